// SPDX-License-Identifier: Apache-2.0
/// \file
/// The instances of the kernel: how a CTA's tile of W lies among its warps and lanes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cuda/kernels/gemv/division.hpp"
#include "cuda/tile/types.cuh"

namespace exactile::cuda::gemv_family {

template <class In, ElementType... all>
[[nodiscard]] constexpr ElementType type_among() {
  ElementType found{};
  ((found = std::is_same_v<In, DeviceElement<all>> ? all : found), ...);
  return found;
}

/// An instance.
template <class InT, int Rows, Contiguous where, Lines how, int Lanes = 32>
struct Shape {
  using In = InT;
  using Accumulator = DeviceAccumulator<In>;
  static constexpr ElementType type =
      type_among<In, ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::f8e4m3,
                 ElementType::f8e5m2, ElementType::i64, ElementType::i32, ElementType::i8, ElementType::cf64,
                 ElementType::cf32>();
  static constexpr int size = static_cast<int>(sizeof(In));
  static constexpr int rows = Rows;
  static constexpr bool along_k = where == Contiguous::k;
  static constexpr int lanes = Lanes;        ///< of a warp, that are side by side along a line
  static constexpr int groups = 32 / lanes;  ///< of lanes, which have lines of their own
  /// Eight lines on, a line begins as far from a vector of so many elements: a warp takes every eighth.
  static constexpr bool is_shifted = how == Lines::shifted;
  static constexpr bool is_i8 = std::is_same_v<In, std::int8_t>;
  static constexpr bool by_mma = multiplies_by_mma(type, where, how, lanes);
  static constexpr bool shares_k = warps_share_k(where, how, by_mma);
  /// Elements of a lane's loads from a line that is aligned, and of a load as it is.
  static constexpr int elements =
      along_k && (is_i8 || (by_mma && !is_shifted)) ? 16 : elements_of_lane(type, size, along_k ? 1 : rows);
  static constexpr int width = how == Lines::elements ? 1 : how == Lines::words ? 4 : std::min(elements, 16 / size);
  /// Loads that give a lane those elements, or half of them; twice that where columns are few.
  static constexpr int loads = std::min(elements, how == Lines::elements ? 8 : elements) / width *
                               (along_k && by_mma        ? is_shifted ? 2 : 1
                                : along_k && !is_shifted ? loads_of_column(size, rows)
                                                         : 1);
  static constexpr int columns = along_k ? columns_of_lane(size, rows) : loads * width;  ///< of a lane
  /// Columns of W, or rows of it, in a lane's step.
  static constexpr int lines = along_k ? columns : lines_of_lane(type, size, rows);
  /// Columns that a CTA reads.
  static constexpr int window = along_k ? (shares_k ? 1 : warps) * groups * columns : lanes * columns;
  static constexpr int tile_columns = window - (!along_k && is_shifted ? width : 0);  ///< of which so many are its own
  static constexpr int warp_step = along_k ? lanes * loads * width : groups * lines;  ///< of K
  static constexpr int step = warp_step * (shares_k ? warps : 1);                     ///< of a CTA
  /// Of K, kept in shared memory at a time.
  static constexpr int chunk =
      by_mma ? along_k ? 2048 : 1536 : std::min(2048, 16384 / (rows * static_cast<int>(sizeof(Accumulator))));
  static constexpr auto of_sums = bytes_of_sums(by_mma, rows, columns, sizeof(Accumulator));
  static constexpr int ahead = steps_ahead(size, where, by_mma, of_sums);
  static constexpr int ctas_per_sm = ctas_of_sm(of_sums, ahead);
  /// A lane's sums: [row][column], or [pair of columns][element of what a tensor core adds up].
  using Sums = std::conditional_t<by_mma, Accumulator[columns / 2][4], Accumulator[rows][columns]>;
  /// Sums of an element of C that a CTA adds up in shared memory.
  static constexpr int parts = !shares_k ? 1 : by_mma ? warps : warps * groups;
  /// The vectors in shared memory. 8-bit integers stay as they are, so that four of them are multiplied at a time.
  using Kept = std::conditional_t<is_i8, In, Accumulator>;
  static constexpr bool multiplies_fours = is_i8 && (width > 1 || !along_k);
  /// A lane's place along a line, and its group. In a tensor core's operand lanes 4 i to 4 i + 3 have row i, of columns
  /// of C.
  static constexpr bool places_are_far = by_mma && !along_k;
  static __device__ int along_line(int lane) { return places_are_far ? lane / groups : lane % lanes; }
  static __device__ int group(int lane) { return places_are_far ? lane % groups : lane / lanes; }
  static_assert(chunk % step == 0);
  static_assert(slice_step(where, type, size, rows, lanes) % step == 0 && warps == 8);
  static_assert(!by_mma || (columns % 2 == 0 && (along_k || (columns == 8 && loads == 1 && lines % 4 == 0))));
  static_assert(!is_shifted || (warps * size % (width * size) == 0 && tile_columns % width == 0));
};

}  // namespace exactile::cuda::gemv_family
