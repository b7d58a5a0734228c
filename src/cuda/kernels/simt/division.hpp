// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the SIMT engine divides a product among thread blocks, and how long it expects to take. Host only, no CUDA.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/checked.hpp"
#include "cuda/kernel.hpp"
#include "cuda/tile/tile_shares.hpp"

namespace exactile::cuda::simt {

/// Terms by which tiles are shared out. Panels of all kernels end there.
inline constexpr int share_terms = 32;

/// A unit of work is a tile of C and some neighbouring chunks of K; a thread block does one. Where that would leave
/// many blocks of the last wave without one, as many blocks as a device runs at a time share the last tiles.
struct Division {
  std::uint32_t row_tiles = 1;
  std::uint32_t column_tiles = 1;
  std::uint32_t splits = 1;           ///< units of a tile; where there are several, a second kernel adds the chunks up
  std::int64_t chunks = 1;            ///< of K
  std::int64_t chunks_per_split = 1;  ///< the last split may have fewer
  std::uint32_t sharing = 0;          ///< blocks that share tiles; 0: none does
  std::uint32_t whole = 0;            ///< the tiles before those that are shared
  TileShares shares = {};             ///< of the others

  [[nodiscard]] std::int64_t units(std::int64_t batch_count) const {
    return batch_count * splits * row_tiles * static_cast<std::int64_t>(column_tiles);
  }
};

/// What the estimate knows of a kernel.
struct TileCost {
  int bm, bn, blocks_per_sm;
  /// Cycles a multiprocessor needs for one term of one tile: with one block on it, and in the mean of many.
  double cycles_alone, cycles_together;
};

struct Estimate {
  Division division;
  double seconds;
  bool packs_b = false;  ///< as copies of single elements take longer
};

/// Whether C^T = B^T A^T is computed instead: so that C has contiguous rows, or for a tile of few rows, that C has
/// fewer rows than columns.
[[nodiscard]] bool is_transposed(const GemmDescription& description, const TileCost& cost);
[[nodiscard]] GemmDescription oriented(const GemmDescription& description, bool transposed);

/// Whether operands of such elements are ever packed for tiles of so many rows by pays_packing().
[[nodiscard]] constexpr bool packs_elements(std::int64_t bytes, int tile_rows) { return bytes == 4 && tile_rows >= 64; }

/// Elements of a term in a packed operand of so many rows or columns: a multiple of packed_step.
inline constexpr std::int64_t packed_step = 64;
[[nodiscard]] constexpr std::int64_t packed_pitch(std::int64_t lines) { return core::round_up(lines, packed_step); }

/// Packing an operand reads and writes it once; it saves about a sixteenth of the arithmetic's time, which is as many
/// times as long as there are rows or columns that use the operand.
[[nodiscard]] bool pays_packing(const GemmDescription& description, const Device& device, const TileCost& cost);

/// The division with the least estimated time, and whether B is packed for it. The description is oriented().
[[nodiscard]] Estimate divide(const GemmDescription& description, const Device& device, const TileCost& cost);

/// How a tile's chunks go to splits, at least `least` and at most `most` to each but the last: the division whose
/// estimated seconds(division) are least, of those with the fewest splits.
template <class Seconds>
[[nodiscard]] Division split_chunks(Division division, std::int64_t least, std::int64_t most, Seconds&& seconds) {
  Division best = division;
  std::optional<double> least_seconds;  // whatever the estimates are, one division is taken
  for (std::int64_t chunks = std::min(division.chunks, most); chunks >= std::min(division.chunks, least) && chunks > 0;
       --chunks) {
    const std::int64_t splits = core::ceil_divide(division.chunks, chunks);
    if (core::ceil_divide(division.chunks, splits) != chunks) continue;  // with as many splits fewer chunks will do
    division.splits = static_cast<std::uint32_t>(splits);
    division.chunks_per_split = chunks;
    const double estimated = seconds(division);
    if (least_seconds && estimated >= *least_seconds) continue;
    least_seconds = estimated;
    best = division;
  }
  return best;
}

/// Why the sums of separate chunks cannot lie in memory, each by itself; empty where they can.
[[nodiscard]] std::string_view sums_refuse(const GemmDescription& description, std::int64_t chunks);

/// Estimated seconds.
[[nodiscard]] double estimate(const plan::Problem& problem, const Device& device, const TileCost& cost);

/// Why no kernel of such tiles can do a problem.
[[nodiscard]] std::string_view refuses(const plan::Problem& problem, const TileCost& cost);

}  // namespace exactile::cuda::simt
