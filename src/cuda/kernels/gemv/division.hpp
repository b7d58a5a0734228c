// SPDX-License-Identifier: Apache-2.0
/// \file
/// Vectors times a matrix: which operand is read how, and how K is divided. Host only, no CUDA.
///
/// The product is turned so that C has at most most_rows rows, the vectors: rows of A. The matrix W is B, and all time
/// goes into reading it once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cuda/kernel.hpp"

namespace exactile::cuda::gemv_family {

inline constexpr std::string_view name = "gemv";
inline constexpr int most_rows = 8;
inline constexpr int threads = 256;
inline constexpr int warps = threads / 32;
inline constexpr int most_columns_of_lane = 4;   ///< where K is contiguous
inline constexpr int most_elements_of_lane = 8;  ///< of a row of W where N is contiguous
inline constexpr int most_ranks = 8;             ///< CTAs of a cluster, on all devices that have clusters

/// The dimension of W in which its elements are neighbours.
enum class Contiguous { k, n };

/// How lines of W, what is contiguous, are read.
enum class Lines {
  aligned,   ///< they begin at multiples of 16 bytes: vectors of them
  shifted,   ///< they begin anywhere: the aligned vectors in which they lie
  words,     ///< 8-bit integers along K at multiples of 4 bytes: words
  elements,  ///< nothing is contiguous, or 8-bit integers along K anywhere: elements
};

[[nodiscard]] constexpr bool is_f8(ElementType type) {
  return type == ElementType::f8e4m3 || type == ElementType::f8e5m2;
}

/// Types that are multiplied by vectors most have instances for 2 vectors, of few lanes wherever W is read by vectors,
/// and, but for 8-bit floats, for few elements a lane.
[[nodiscard]] constexpr bool has_all_instances(ElementType type) {
  return type != ElementType::i32 && type != ElementType::i64 && type != ElementType::cf32 && type != ElementType::cf64;
}

/// Lanes side by side along a line where they are less than a warp.
[[nodiscard]] constexpr int few_lanes(ElementType type, Contiguous contiguous) {
  return is_f8(type) && contiguous == Contiguous::k ? 4 : 8;
}

/// Whether there are instances of few lanes, too: for what is read by vectors.
[[nodiscard]] constexpr bool has_few_lanes(ElementType type, Contiguous contiguous, Lines lines) {
  const bool is_along_k = contiguous == Contiguous::k;
  if (type == ElementType::cf64) return !is_along_k;
  return has_all_instances(type) && (lines != Lines::elements || (type == ElementType::i8 && is_along_k));
}

/// Whether tensor cores multiply, f8 as f16: CUDA cores do not convert and multiply as fast as memory delivers. Few
/// lanes have a line of W then.
[[nodiscard]] constexpr bool multiplies_by_mma(ElementType type, Contiguous contiguous, Lines lines, int lanes) {
  return is_f8(type) && lines != Lines::elements && lanes == few_lanes(type, contiguous);
}

/// Whether the warps of a CTA share K, not the lines of W: where N is contiguous, and where tensor cores need many
/// lines of a warp.
[[nodiscard]] constexpr bool warps_share_k(Contiguous contiguous, Lines lines, bool by_mma) {
  return contiguous == Contiguous::n || (by_mma && lines == Lines::aligned);
}

/// Elements, of so many bytes, that a lane loads at a time; where N is contiguous, each is summed for all rows. Of 16
/// bytes and many rows two: shared memory could not deliver for each alone what it is multiplied by.
[[nodiscard]] constexpr int elements_of_lane(ElementType type, int size, int rows) {
  if (size == 16) return rows == most_rows ? 2 : 1;
  const bool are_few = rows == most_rows && has_all_instances(type) && !is_f8(type);
  return std::min(are_few ? most_elements_of_lane / 2 : most_elements_of_lane, 16 / size);
}

/// Where K is contiguous: so many that two CTAs find room for their sums on an SM, but two: shared memory could not
/// deliver for each column alone what it is multiplied by.
[[nodiscard]] constexpr int columns_of_lane(int size, int rows) {
  return std::clamp(128 / (rows * std::max(size, 4)), 2, most_columns_of_lane);  // no sum has less than 4 bytes
}

/// Where K is contiguous: loads of a column that are in flight at a time, two where columns are few. Of four, and what
/// they meet, registers would spill.
[[nodiscard]] constexpr int loads_of_column(int size, int rows) {
  return columns_of_lane(size, rows) < most_columns_of_lane ? 2 : 1;
}

/// Of a lane: a tensor core spreads the sums of 8 rows and of its 8 lanes' columns over all 32.
[[nodiscard]] constexpr std::int64_t bytes_of_sums(bool by_mma, int rows, int columns, std::int64_t size_of_sum) {
  return (by_mma ? most_rows * columns / 4 : rows * columns) * size_of_sum;
}

/// Steps that are on their way while one is multiplied: three of elements of 4 bytes and more where the sums leave
/// registers for them. Two CTAs of an SM ask for more bytes so than three with one step; on an H200 that is 1.05 to 1.1
/// times as fast in the mean of a type. Bytes are 3 % slower with three, cf64 along K up to 20 %; 16 bits gain nothing.
[[nodiscard]] constexpr int steps_ahead(int size, Contiguous contiguous, bool by_mma, std::int64_t bytes_of_sums) {
  const bool is_deep = size >= 4 && (size < 16 || contiguous == Contiguous::n) && bytes_of_sums <= 64;
  return is_deep ? 3 : by_mma && contiguous == Contiguous::n ? 2 : 1;
}

/// CTAs that an SM has at a time, by what a lane's sums and steps take of the registers.
[[nodiscard]] constexpr int ctas_of_sm(std::int64_t bytes_of_sums, int ahead) {
  return bytes_of_sums <= 64 && ahead == 1 ? 3 : bytes_of_sums <= 128 ? 2 : 1;
}

/// Where N is contiguous: lines of W of which a lane has its elements in a step. They are 64 bytes together, but where
/// a CTA is alone on its SM for sums of so wide elements, 128.
[[nodiscard]] constexpr int lines_of_lane(ElementType type, int size, int rows) {
  const bool is_alone = size == 16 && rows == most_rows;
  return (is_alone ? 128 : 64) / (elements_of_lane(type, size, rows) * size);
}

/// K slices begin at multiples: a step of a CTA.
[[nodiscard]] constexpr int slice_step(Contiguous contiguous, ElementType type, int size, int rows, int lanes) {
  const bool by_mma = multiplies_by_mma(type, contiguous, Lines::aligned, lanes);
  if (contiguous == Contiguous::k) return (by_mma ? warps : loads_of_column(size, rows)) * lanes * 16 / size;
  return warps * (32 / lanes) * lines_of_lane(type, size, rows);
}

/// How a product, turned, is divided. A CTA computes all rows of a tile of columns over a slice of K.
struct Division {
  Contiguous contiguous = Contiguous::k;
  int rows = 1;             ///< of the instance: 1, 2, 4 or 8
  bool by_vectors = false;  ///< W is read
  int lanes = 32;           ///< side by side along a line
  int tile_columns = 0;     ///< of C, of a CTA
  std::int64_t column_tiles = 0;
  std::int64_t k_of_slice = 0;
  int split_k = 1;
  int ranks = 1;  ///< CTAs of a cluster: slices whose sums meet there; a divisor of split_k

  /// The sums of clusters meet in memory.
  [[nodiscard]] int clusters() const { return split_k / ranks; }
  [[nodiscard]] bool reduces_in_memory() const { return clusters() > 1; }
};

/// Whether C^T = B^T A^T is computed: where C has fewer columns than rows.
[[nodiscard]] bool is_transposed(const GemmDescription& description);
[[nodiscard]] GemmDescription oriented(const GemmDescription& description);

/// Of W at that address; of d as oriented().
[[nodiscard]] Lines lines_of(const GemmDescription& d, const void* w);

/// Of d as oriented(). `split_k` is an upper limit: a slice has slice_step() terms or more. Where there are more slices
/// than a cluster has CTAs, the last ones of the last cluster may be empty.
[[nodiscard]] Division division_of(const GemmDescription& d, const Device& device, int split_k, int lanes);

/// What a configuration's BN says of it.
[[nodiscard]] int lanes_of(const GemmDescription& d, const Device& device, const Configuration& configuration);

/// Of the sums of all clusters; 0 where they do not meet in memory.
[[nodiscard]] std::int64_t workspace_bytes(const GemmDescription& d, const Division& division);

[[nodiscard]] std::string_view refuses(const plan::Problem& problem, const Device& device);
[[nodiscard]] std::vector<Candidate> candidates(const plan::Problem& problem, const Device& device);

}  // namespace exactile::cuda::gemv_family
