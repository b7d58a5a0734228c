// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the SIMT engine divides a product among thread blocks. Host only, no CUDA.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/checked.hpp"
#include "cuda/kernel.hpp"
#include "cuda/tile/summation_order.hpp"

namespace exactile::cuda::simt {

/// What a step of a Demand is. Panels of all kernels end there.
inline constexpr int step_k = 32;

/// A work tile is a tile of C and some neighbouring chunks of K (split-K); a thread block does one.
struct Division {
  std::uint32_t row_tiles = 1;
  std::uint32_t column_tiles = 1;
  std::uint32_t split_k = 1;  ///< K slices of a tile; where there are several, a second kernel adds the chunks up
  std::int64_t chunks = 1;    ///< of K
  std::int64_t chunks_per_slice = 1;  ///< the last slice may have fewer
  int k_of_chunk = chunk_k;           ///< shorter where K has more slices than chunks of that length

  [[nodiscard]] std::int64_t work_tiles(std::int64_t batch_count) const {
    return batch_count * split_k * row_tiles * static_cast<std::int64_t>(column_tiles);
  }
};

/// A tile that a kernel is compiled for, as far as a division asks.
struct TileSize {
  int bm, bn, ctas;
};

/// Whether C^T = B^T A^T is computed instead: so that C has contiguous rows, or for a tile of few rows, that C has
/// fewer rows than columns.
[[nodiscard]] bool is_transposed(const GemmDescription& description, const TileSize& tile);
[[nodiscard]] GemmDescription oriented(const GemmDescription& description, bool transposed);

/// Elements of a k in a packed operand of so many rows or columns: a multiple of packed_step.
inline constexpr std::int64_t packed_step = 64;
[[nodiscard]] constexpr std::int64_t packed_pitch(std::int64_t lines) { return core::round_up(lines, packed_step); }

/// The operands that are packed: those that the kernel cannot read by vectors.
struct Packing {
  bool a = false;
  bool b = false;
  [[nodiscard]] bool any() const { return a || b; }
};

/// The path of a Demand: which of the two is read by elements instead of vectors of 16 bytes (only elements of 4 bytes
/// are read by those), and whether along K. The description is oriented().
[[nodiscard]] int path_of(const GemmDescription& description);

/// What packing would mean for tiles of that size; none where it is not possible. The description is oriented().
[[nodiscard]] Packing packing(const GemmDescription& description, const Device& device, const TileSize& tile);

/// The division that a configuration stands for. The description is oriented(). Small tiles of f32 alone, which are in
/// no OrderOfSums, have slices that are shorter than a chunk of summation_order.hpp.
[[nodiscard]] Division division_of(const GemmDescription& description, const TileSize& tile,
                                   const Configuration& configuration);

/// `division` with its chunks in so many K slices, or fewer where none would be left for the last.
[[nodiscard]] Division with_split_k(Division division, std::int64_t split_k);

/// All divisions into powers of two, and into single chunks, packed or not. A tile of few rows, half of them or more
/// empty, is offered where parameters are asked for alone: `gemv` computes no rows that are not there.
[[nodiscard]] std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device,
                                                const TileSize& tile);

/// Why no kernel of such tiles can do a problem.
[[nodiscard]] std::string_view refuses(const plan::Problem& problem, const TileSize& tile);

}  // namespace exactile::cuda::simt
