// SPDX-License-Identifier: Apache-2.0
/// \file
/// How TMA finds chunks of an f32 operand that is split in registers.
#pragma once

#include <optional>

#include "cuda/kernels/sm90/register_split.cuh"

namespace exactile::cuda::sm90 {

/// A's rows or B's columns of a product whose K is taken in parts; data, slices and facts are not there yet.
[[nodiscard]] SplitOperand operand_in_parts(const GemmDescription& description, Operand which, std::int64_t facts_pitch,
                                            int parts, int part_k);

/// Where the facts of all parts of an operand lie: maxima, then tiny elements.
[[nodiscard]] LineFacts facts_at(void* place, const SplitOperand& operand);

/// Whether the operand's lines run along K rather than across it.
[[nodiscard]] bool runs_along_k(const SplitOperand& operand);

/// How TMA can address an operand: contiguous along one side, in steps of 16 bytes along the others, if need be of
/// every fourth line. Nothing if it cannot.
[[nodiscard]] std::optional<TileLines> lines_for_tma(const SplitOperand& operand, bool along_k);

/// One map for such lines, or by fours one for each quarter of them.
[[nodiscard]] Status make_unsplit_maps(CUtensorMap (&to)[4], const SplitOperand& operand, const TileLines& lines);

/// By one thread: a chunk of what is not split, where TMA can address it, by maps of make_unsplit_maps().
__device__ inline void load_unsplit(std::byte* tile, const CUtensorMap (&maps)[4], const TileLines& lines, int row0,
                                    int k0, int batch, std::uint64_t* full) {
  const bool along_k = lines.along_k;
  const int x = along_k ? k0 : row0;
  const int y = along_k ? row0 : k0;
  if (lines.by_fours) {
    const int map_bytes = lines.count() / 4 * lines.pitch() * 4;
    isa::mbarrier_arrive_expect(full, 4 * map_bytes);
    for (int map = 0; map < 4; ++map) isa::tma_load(tile + map * map_bytes, &maps[map], x, y / 4, batch, full);
  } else {
    isa::mbarrier_arrive_expect(full, TileLines::swizzled_bytes);
    // One load brings 32 elements of all lines.
    const int box_bytes = lines.count() * 128;
    for (int box = 0; box < TileLines::swizzled_bytes / box_bytes; ++box)
      isa::tma_load(tile + box * box_bytes, &maps[0], x + box * 32, y, batch, full);
  }
}

}  // namespace exactile::cuda::sm90
