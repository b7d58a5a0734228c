// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the sizes of a product settle for the packed loops before its blocks are measured or asked for.
#pragma once

#include <algorithm>

#include "core/checked.hpp"
#include "cpu/caches.hpp"
#include "cpu/loops/a_block.hpp"
#include "cpu/loops/blocking.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/loops/tuned_blocking.hpp"
#include "cpu/model/team.hpp"

namespace exactile::cpu {

struct Outline {
  int threads;
  std::int64_t column_blocks;  ///< of the model
  ASource a_source;
  bool rounds_c;  ///< C is narrower than the sums: all terms are one step
  BlockingModel model;
};

/// At least a block for each thread where there are so many panels.
[[nodiscard]] inline std::int64_t column_blocks_for(std::int64_t panels, const Blocking& blocking, int threads) {
  return std::max(core::ceil_divide(panels, blocking.nc / blocking.nr), std::min<std::int64_t>(threads, panels));
}

/// Of an A in place that is always read along with a packed B: each thread reads 1 / R of A and 1 / C of B, of R C =
/// its number, and what is packed passes three times, as it is read, written and read again.
template <class K>
[[nodiscard]] std::int64_t row_blocks_for(const Orientation& o, int threads, ASource source, std::int64_t row_tiles) {
  if (reads_operands<K> || source != ASource::in_place) return 1;
  std::int64_t best = 1;
  const auto bytes = [&](std::int64_t rows) {
    return static_cast<double>(o.m) / static_cast<double>(rows) +
           3.0 * static_cast<double>(o.n) * static_cast<double>(rows) / threads;
  };
  for (std::int64_t rows = 2; rows <= std::min<std::int64_t>(threads, row_tiles); ++rows)
    if (threads % rows == 0 && bytes(rows) < bytes(best)) best = rows;
  return best;
}

/// Whether panels of B are packed together instead of each inside its micro-kernel, which reads one to three lines of
/// each row. Few row tiles wait for a B that comes from memory; and for one from behind L2 whose rows lie a multiple of
/// 2 KiB apart: they share two sets of L1, where what the kernel asked for is gone before it comes.
template <class K>
[[nodiscard]] bool packs_panels_together(const Orientation& o, std::int64_t mr) {
  constexpr std::int64_t most_waiting_tiles = 32;
  constexpr std::int64_t bytes_of_sharing_rows = 2048;
  constexpr std::int64_t least_bytes_from_memory = 32 << 20;
  constexpr auto size = static_cast<std::int64_t>(sizeof(Input<K>));
  if (!reads_operands<K>) return true;
  const bool rows_share_sets = o.b.row_stride * size % bytes_of_sharing_rows == 0;
  return o.b.column_stride == 1 && core::ceil_divide(o.m, mr) <= most_waiting_tiles &&
         o.n > (rows_share_sets ? caches().l2 : least_bytes_from_memory) / size / o.k;
}

template <class K>
[[nodiscard]] Outline outline_of(const plan::Problem& problem, const Orientation& o, const MicroKernels<K>& kernels) {
  const LoopTile tile = choose_loop_tile(kernels, o.m);
  const int width = tile.vectors * kernels.lanes;
  const std::int64_t panels = core::ceil_divide(o.n, std::int64_t{width});
  const std::int64_t tiles =
      core::checked_multiply(core::ceil_divide(o.m, tile.rows), panels).value_or(problem.threads);
  const int threads = members(tiles, problem.threads);
  const bool rounds_c = problem.description.types.output != element_type_v<Sum<K>>;
  const std::int64_t chunk = rounds_c ? std::max(o.k, chunk_terms<K>) : chunk_terms<K>;
  const auto blocking = [&](bool a_is_packed) {
    return blocking_for({tile.rows, width, packed_size<K>, sizeof(Sum<K>), chunk, in_tile_registers<K>}, o.m, o.n, o.k,
                        a_is_packed, threads);
  };
  const std::int64_t column_blocks = column_blocks_for(panels, blocking(false), threads);
  const ASource source = a_source_of<K>(o, tile, threads, column_blocks);
  const bool a_is_packed = has_copy(source);
  return {threads,
          column_blocks,
          source,
          rounds_c,
          {.blocking = blocking(a_is_packed), .chunk = chunk, .a_is_packed = a_is_packed}};
}

}  // namespace exactile::cpu
