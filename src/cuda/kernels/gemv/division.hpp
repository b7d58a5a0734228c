// SPDX-License-Identifier: Apache-2.0
/// \file
/// Vectors times a matrix: which operand is read how, and how K is divided. Host only, no CUDA.
///
/// The product is turned so that C has at most most_rows rows, the vectors: rows of A. The matrix W is B, and all time
/// goes into reading it once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cuda/kernel.hpp"

namespace exactile::cuda::gemv_family {

inline constexpr std::string_view name = "gemv";
inline constexpr int most_rows = 8;
inline constexpr int threads = 256;
inline constexpr int warps = threads / 32;
inline constexpr int columns_of_warp = 4;        ///< where K is contiguous
inline constexpr int most_elements_of_lane = 8;  ///< of a row of W where N is contiguous
inline constexpr int slice_step = 512;           ///< K slices begin at multiples
inline constexpr std::int64_t most_ranks = 8;    ///< CTAs of a cluster, on all devices that have clusters

/// The dimension of W in which its elements are neighbours.
enum class Contiguous { k, n };

/// How a product, turned, is divided. A CTA computes all rows of a tile of columns over a slice of K.
struct Division {
  Contiguous contiguous;
  int rows;          ///< of the instance: 1, 4 or 8
  int load_bytes;    ///< of a load from W by one thread: 16 where W is aligned, less elsewhere
  int tile_columns;  ///< of C, of a CTA
  std::int64_t column_tiles;
  std::int64_t k_of_slice;
  int split_k;
  bool in_clusters;  ///< the slices of a tile are CTAs of a cluster; otherwise their sums meet in memory

  [[nodiscard]] bool reduces_in_memory() const { return split_k > 1 && !in_clusters; }
};

/// Whether C^T = B^T A^T is computed: where C has fewer columns than rows.
[[nodiscard]] bool is_transposed(const GemmDescription& description);
[[nodiscard]] GemmDescription oriented(const GemmDescription& description);

/// Bytes that a thread loads at a time from W at that address; of d as oriented().
[[nodiscard]] int load_bytes(const GemmDescription& d, const void* w);

/// Of d as oriented(). `split_k` is an upper limit: a slice has slice_step terms or more.
[[nodiscard]] Division division_of(const GemmDescription& d, const Device& device, int split_k);

/// Sums of all slices in memory; 0 where they do not meet there.
[[nodiscard]] std::int64_t workspace_bytes(const GemmDescription& d, const Division& division);

[[nodiscard]] std::string_view refuses(const plan::Problem& problem, const Device& device);
[[nodiscard]] std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device);

}  // namespace exactile::cuda::gemv_family
