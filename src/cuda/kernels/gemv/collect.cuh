// SPDX-License-Identifier: Apache-2.0
/// \file
/// A CTA's sums of vectors times a matrix, from the registers of its lanes to shared memory.
#pragma once

#include <algorithm>

#include "cuda/kernels/gemv/division.hpp"
#include "cuda/tile/types.cuh"

namespace exactile::cuda::gemv_family {

template <class T>
[[nodiscard]] __device__ inline T from_lane(T x, int mask) {
  if constexpr (is_complex_v<T>) {
    return {__shfl_xor_sync(0xffffffffU, x.real, mask), __shfl_xor_sync(0xffffffffU, x.imaginary, mask)};
  } else if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
    return static_cast<T>(__shfl_xor_sync(0xffffffffU, static_cast<long long>(x), mask));
  } else {
    return __shfl_xor_sync(0xffffffffU, x, mask);
  }
}

/// Adds `count` sums over so many lanes of a warp, each by the tree of xor shuffles: lanes give half of what they have
/// away for as much of the other half. A lane ends with those from the one that is returned on, the first of x.
template <int lanes, int count, class T>
__device__ int add_lanes(T (&x)[count]) {
  static_assert(count <= 32 && (count & (count - 1)) == 0);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int which = 0;
#pragma unroll
  for (int mask = lanes / 2, held = count; mask > 0; mask /= 2, held = held > 1 ? held / 2 : 1) {
    if (held == 1) {
      x[0] = add(x[0], from_lane(x[0], mask));
      continue;
    }
    const bool takes_upper = (lane & mask) != 0;
    which += takes_upper ? held / 2 : 0;
#pragma unroll
    for (int i = 0; i < held / 2; ++i) {
      const T given = takes_upper ? x[i] : x[i + held / 2];
      x[i] = add(takes_upper ? x[i + held / 2] : x[i], from_lane(given, mask));
    }
  }
  return which;
}

/// From a row of sums in shared memory to the next: tensor cores spread rows over lanes, which write side by side so.
template <class S>
inline constexpr int pitch = S::window + (S::by_mma ? 4 : 0);

/// Rows whose sums all warps have in shared memory at a time, where they are not added by shuffles.
template <class S>
inline constexpr int rows_at_once =
    std::clamp(32768 / (S::parts * pitch<S> * static_cast<int>(sizeof(typename S::Accumulator))), 1, S::rows);

/// Where a column of the window has its sum in such a row: lanes of a warp write one after another.
template <class S>
[[nodiscard]] __device__ inline int place_of(int column) {
  if constexpr (!S::by_mma) return column;
  return column % S::columns * (S::window / S::columns) + column / S::columns;
}

/// Of a lane's column c, in the window.
template <class S>
[[nodiscard]] __device__ inline int column_of(int warp, int lane, int c) {
  const int group = S::group(lane);
  if constexpr (!S::along_k)
    return c / S::width * (S::lanes * S::width) + S::along_line(lane) * S::width + c % S::width;
  if constexpr (S::is_shifted) return (c * S::groups + group) * warps + warp;
  return (S::shares_k ? group : warp * S::groups + group) * S::columns + c;
}

/// Adds the CTA's sums up: [row][column of the tile] in shared memory. All threads have left the vectors behind.
/// `shift_of(warp)`: how many columns before the tile those of the warp begin.
template <class S, class ShiftOf>
__device__ void collect(const typename S::Sums& sums, typename S::Accumulator* tile, const ShiftOf& shift_of) {
  using Accumulator = typename S::Accumulator;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (S::along_k && !S::by_mma) {
    constexpr int count = S::rows * S::columns;
    Accumulator all[count];
#pragma unroll
    for (int i = 0; i < count; ++i) all[i] = sums[i / S::columns][i % S::columns];
    constexpr int left = std::max(1, count / S::lanes);  // sums that a lane ends with
    const int from = add_lanes<S::lanes>(all);
    if (lane % std::max(1, S::lanes / count) == 0)
#pragma unroll
      for (int e = 0; e < left; ++e) {
        const int row = (from + e) / S::columns;
        tile[row * S::tile_columns + column_of<S>(warp, lane, (from + e) % S::columns)] = all[e];
      }
    __syncthreads();
  } else {
    constexpr int at_once = rows_at_once<S>;
    static_assert(S::rows % at_once == 0);
    Accumulator* const of_warps = tile + S::rows * S::tile_columns;  // [part][row][place of a column]
    const int part = S::parts == 1 ? 0 : S::by_mma ? warp : warp * S::groups + S::group(lane);
    int shifts[warps];
#pragma unroll
    for (int w = 0; w < warps; ++w) shifts[w] = shift_of(w);
#pragma unroll
    for (int first = 0; first < S::rows; first += at_once) {
      const auto give = [&](int r, int c, Accumulator sum) {
        of_warps[(part * at_once + r) * pitch<S> + place_of<S>(column_of<S>(warp, lane, c))] = sum;
      };
      if constexpr (S::by_mma) {
#pragma unroll
        for (int c = 0; c < S::columns; ++c)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            if (const int r = lane % 4 * 2 + e - first; r >= 0 && r < at_once) give(r, c, sums[c / 2][c % 2 * 2 + e]);
      } else {
#pragma unroll
        for (int r = 0; r < at_once; ++r)
#pragma unroll
          for (int c = 0; c < S::columns; ++c) give(r, c, sums[first + r][c]);
      }
      __syncthreads();
      for (int e = static_cast<int>(threadIdx.x); e < at_once * S::tile_columns; e += threads) {
        const Accumulator* const from = of_warps + e / S::tile_columns * pitch<S>;
        const int column = e % S::tile_columns;
        Accumulator x = from[place_of<S>(column + shifts[0])];
#pragma unroll
        for (int other = 1; other < S::parts; ++other)
          x = add(x, from[other * at_once * pitch<S> + place_of<S>(column + shifts[other * warps / S::parts])]);
        tile[first * S::tile_columns + e] = x;
      }
      __syncthreads();
    }
  }
}

}  // namespace exactile::cuda::gemv_family
