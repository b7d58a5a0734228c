// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the SIMT engine divides a product among thread blocks, and how long it expects to take. Host only, no CUDA.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda::simt {

/// A unit of work is a tile of C and some neighbouring chunks of K; a thread block does one.
struct Division {
  std::uint32_t row_tiles = 1;
  std::uint32_t column_tiles = 1;
  std::uint32_t splits = 1;           ///< units of a tile; where there are several, a second kernel adds the chunks up
  std::int64_t chunks = 1;            ///< of K
  std::int64_t chunks_per_split = 1;  ///< the last split may have fewer
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
};

/// Whether C^T = B^T A^T is computed instead: so that C has contiguous rows, or for a tile of few rows, that C has
/// fewer rows than columns.
[[nodiscard]] bool is_transposed(const GemmDescription& description, const TileCost& cost);
[[nodiscard]] GemmDescription oriented(const GemmDescription& description, bool transposed);

/// The division with the least estimated time. The description is oriented().
[[nodiscard]] Estimate divide(const GemmDescription& description, const Device& device, const TileCost& cost);

/// Estimated seconds.
[[nodiscard]] double estimate(const plan::Problem& problem, const Device& device, const TileCost& cost);

/// Why no kernel of such tiles can do a problem.
[[nodiscard]] std::string_view refuses(const plan::Problem& problem, const TileCost& cost);

}  // namespace exactile::cuda::simt
