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

/// Rows whose sums all warps have in shared memory at a time, where N is contiguous.
template <class S>
inline constexpr int rows_at_once =
    std::clamp(32768 / (S::parts * S::window * static_cast<int>(sizeof(typename S::Accumulator))), 1, S::rows);

/// Adds the CTA's sums up: [row][column of the tile] in shared memory. All threads have left the vectors behind.
/// `shift_of(warp)`: where N is contiguous, how many columns before the tile those of the warp begin.
template <class S, class ShiftOf>
__device__ void collect(const typename S::Sums& sums, typename S::Accumulator* tile, const ShiftOf& shift_of) {
  using Accumulator = typename S::Accumulator;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (S::along_k) {
    constexpr int count = S::rows * S::columns;
    Accumulator all[count];
#pragma unroll
    for (int i = 0; i < count; ++i) all[i] = sums[i / S::columns][i % S::columns];
    constexpr int left = std::max(1, count / S::lanes);  // sums that a lane ends with
    const int from = add_lanes<S::lanes>(all);
    if (lane % std::max(1, S::lanes / count) == 0)
#pragma unroll
      for (int e = 0; e < left; ++e) {
        const int row = (from + e) / S::columns, line = (from + e) % S::columns, group = lane / S::lanes;
        const int column =
            S::is_shifted ? (line * S::groups + group) * warps + warp : (warp * S::groups + group) * S::columns + line;
        tile[row * S::tile_columns + column] = all[e];
      }
    __syncthreads();
  } else {
    constexpr int at_once = rows_at_once<S>;
    Accumulator* const of_warps = tile + S::rows * S::tile_columns;  // [part][row][column of the window]
    const int part = S::by_mma ? warp : warp * S::groups + S::group(lane);
    int shifts[warps];
#pragma unroll
    for (int w = 0; w < warps; ++w) shifts[w] = shift_of(w);
#pragma unroll
    for (int first = 0; first < S::rows; first += at_once) {
      const auto give = [&](int r, int c, Accumulator sum) {
        of_warps[(part * at_once + r) * S::window + c / S::width * (S::lanes * S::width) +
                 S::along_line(lane) * S::width + c % S::width] = sum;
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
        const Accumulator* const from = of_warps + e / S::tile_columns * S::window + e % S::tile_columns;
        Accumulator x = from[shifts[0]];
#pragma unroll
        for (int other = 1; other < S::parts; ++other)
          x = add(x, from[other * at_once * S::window + shifts[other * warps / S::parts]]);
        tile[first * S::tile_columns + e] = x;
      }
      __syncthreads();
    }
  }
}

}  // namespace exactile::cuda::gemv_family
