// SPDX-License-Identifier: Apache-2.0
/// \file
/// How TMA finds chunks of an f32 operand that is split in registers.
#pragma once

#include <optional>

#include "cuda/kernels/sm90/register_split.cuh"

namespace exactile::cuda::sm90 {

/// A's rows or B's columns of a product whose K is split; data, slices and scales are not there yet.
[[nodiscard]] SplitOperand k_sliced_operand(const GemmDescription& description, Operand which,
                                            std::int64_t scales_pitch, int split_k, int k_per_slice);

/// Where the scales of all K slices of an operand lie: maxima, then underflow counts.
[[nodiscard]] VectorScales scales_at(void* place, const SplitOperand& operand);

/// Whether the operand is K-major rather than MN-major.
[[nodiscard]] bool is_k_major(const SplitOperand& operand);

/// How TMA can address an operand: contiguous along one side, in steps of 16 bytes along the others, if need be of
/// every fourth row of memory. Nothing if it cannot.
[[nodiscard]] std::optional<F32TileLayout> tma_layout_of(const SplitOperand& operand, bool k_major);

/// One map for such an operand; where rows are misaligned, one for each quarter of them.
[[nodiscard]] Status make_f32_maps(CUtensorMap (&to)[4], const SplitOperand& operand, const F32TileLayout& tile_layout);

/// By one thread: a chunk of what is not split, where TMA can address it, by maps of make_f32_maps().
__device__ inline void load_f32_tile(std::byte* tile, const CUtensorMap (&maps)[4], const F32TileLayout& tile_layout,
                                     int row0, int k0, int batch, std::uint64_t* full) {
  const bool k_major = tile_layout.k_major;
  const int x = k_major ? k0 : row0;
  const int y = k_major ? row0 : k0;
  if (tile_layout.misaligned) {
    const int map_bytes = tile_layout.count() / 4 * tile_layout.pitch() * 4;
    isa::mbarrier_arrive_expect(full, 4 * map_bytes);
    for (int map = 0; map < 4; ++map) isa::tma_load(tile + map * map_bytes, &maps[map], x, y / 4, batch, full);
  } else {
    isa::mbarrier_arrive_expect(full, F32TileLayout::swizzled_bytes);
    // One load brings 32 elements of all rows.
    const int box_bytes = tile_layout.count() * 128;
    for (int box = 0; box < F32TileLayout::swizzled_bytes / box_bytes; ++box)
      isa::tma_load(tile + box * box_bytes, &maps[0], x + box * 32, y, batch, full);
  }
}

}  // namespace exactile::cuda::sm90
