// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums of a kernel that splits both operands: on their way to C, or to where splitk_reduce() finds them.
#pragma once

#include "cuda/kernels/sm90/fused_split.cuh"
#include "cuda/kernels/sm90/splitk_reduce_global.hpp"

namespace exactile::cuda::sm90 {

inline constexpr int fused_fragment = 64;  // columns that the tensor cores sum at a time
inline constexpr int thread_sums = fused_n / 2;

/// A thread's sums of a tile. At [f][4j + 2r + c]: row r of its two, and column 64f + 16(j / 2) + 4(lane % 4) + 2c + j
/// % 2 (store_slices()), so that four neighbouring columns are one thread's.
using FusedAccumulators = float[fused_n / fused_fragment][fused_fragment / 2];

/// Sum u of the four of row r and of columns 16g + 4(lane % 4) and on.
template <class Accumulators>
[[nodiscard]] __device__ inline auto& sum_at(Accumulators& sums, int r, int g, int u) {
  return sums[g / 4][4 * (g % 4 * 2 + u % 2) + 2 * r + u / 2];
}
inline constexpr int groups_of_four = fused_n / 16;

/// Where a thread's sums are in C.
struct FusedCoord {
  int row;     ///< of the first of two
  int column;  ///< of the first in the first group

  __device__ FusedCoord(int tile_row, int tile_column)
      : row(tile_row + ElementRows().line), column(tile_column + static_cast<int>(threadIdx.x) % 4 * 4) {}

  [[nodiscard]] __device__ int column_of(int g, int u) const { return column + 16 * g + u; }
};

/// The column of the tile that accumulator u of group g belongs to.
[[nodiscard]] __device__ inline int line_of_sum(int g, int u) {
  return 16 * g + static_cast<int>(threadIdx.x) % 4 * 4 + u;
}

/// Partial sums of a K slice, as they are.
__device__ inline void store_partials(const FusedAccumulators& sums, float* to, const FusedCoord& at, int rows,
                                      int columns, std::int64_t pitch) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int i = at.row + r;
    if (i >= rows) continue;
    float* const line = to + i * pitch;
#pragma unroll
    for (int g = 0; g < groups_of_four; ++g)
      if (at.column_of(g, 0) < columns)
        *reinterpret_cast<float4*>(line + at.column_of(g, 0)) =
            make_float4(sum_at(sums, r, g, 0), sum_at(sums, r, g, 1), sum_at(sums, r, g, 2), sum_at(sums, r, g, 3));
  }
}

/// sum times the powers of two of its row and column. Which way depends on them alone.
[[nodiscard]] __device__ inline float scaled_back_fast(float sum, PackedScale row, PackedScale column) {
  const int r = static_cast<std::int16_t>(row);
  const int c = static_cast<std::int16_t>(column);
  return max(abs(r), abs(c)) <= most_single_exponent ? sum * power_of_two(r + c) : scaled_back(sum, row, column);
}

/// A thread's sums where they can be indexed: [r][g][u] as in sum_at().
using IndexedAccumulators = float[thread_sums];

/// By a warp: sums with a bit in `uncertain` are scaled back, or summed from A and B if the slices could not hold them.
__device__ inline void settle(IndexedAccumulators& sums, std::uint64_t uncertain, const FusedCoord& at,
                              const PackedScale (&rows)[2], const FinalScales& ends, const Output& c,
                              const SplitPair& operands, int batch) {
#pragma unroll 1
  for (; __any_sync(~0u, uncertain != 0); uncertain &= uncertain - 1) {
    const bool is_one = uncertain != 0;
    const int index = is_one ? __ffsll(static_cast<long long>(uncertain)) - 1 : 0;
    const int r = index / (thread_sums / 2);
    const int g = index / 4 % groups_of_four;
    const PackedScale row = r == 0 ? rows[0] : rows[1];
    const PackedScale column = ends.scale[line_of_sum(g, index % 4)];
    const int i = at.row + r;
    const int j = at.column_of(g, index % 4);
    const float sum = sums[index];
    float settled = scaled_back_fast(sum, row, column);
    unsigned summed = __ballot_sync(~0u, is_one && i < c.rows && j < c.columns && needs_f32_sum(sum, row, column));
    if (summed != 0 && threadIdx.x % 32 == 0) count_f32_sums(c, __popc(summed));
    for (; summed != 0; summed &= summed - 1) {
      const int lane = __ffs(static_cast<int>(summed)) - 1;
      const float found = warp_sum(operands, batch, __shfl_sync(~0u, i, lane), __shfl_sync(~0u, j, lane));
      if (static_cast<int>(threadIdx.x) % 32 == lane) settled = found;
    }
    if (is_one) sums[index] = settled;
  }
}

/// C where the sums are the result: those with a bit in `settled`.
__device__ inline void store_some(const IndexedAccumulators& sums, std::uint64_t settled, const FusedCoord& at,
                                  const Output& c, float* to) {
#pragma unroll 1
  for (; settled != 0; settled &= settled - 1) {
    const int index = __ffsll(static_cast<long long>(settled)) - 1;
    const int i = at.row + index / (thread_sums / 2);
    const int j = at.column_of(index / 4 % groups_of_four, index % 4);
    if (i < c.rows && j < c.columns) to[i * c.layout.row_stride + j] = sums[index];
  }
}

/// Any C, any epilogue. Four elements at a time, whose loads are in flight together; the activation, which is long, has
/// a loop of its own.
__device__ inline void store_settled(IndexedAccumulators& sums, const FusedCoord& at, const Output& c, float* to) {
  Epilogue<float, float> linear = c.epilogue;
  linear.activation = Activation::none;
  constexpr int together = 8;
#pragma unroll 1
  for (int first = 0; first < thread_sums; first += together) {
    const int i = at.row + first / (thread_sums / 2);
    if (i >= c.rows) continue;
    float* const line = to + i * c.layout.row_stride;
    const auto column = [&](int e) { return at.column_of((first + e) / 4 % groups_of_four, e % 4); };
    float before[together];
#pragma unroll
    for (int e = 0; e < together; ++e)
      before[e] = c.epilogue.reads_c && column(e) < c.columns ? line[column(e) * c.layout.column_stride] : 0.0f;
#pragma unroll
    for (int e = 0; e < together; ++e) {
      const int j = column(e);
      if (j >= c.columns) continue;
      const float x = linear.is_plain ? sums[first + e] : linear.value(sums[first + e], before[e], i, j);
      if (c.epilogue.activation == Activation::none) {
        line[j * c.layout.column_stride] = x;
      } else {
        sums[first + e] = x;
      }
    }
    if (c.epilogue.activation == Activation::none) continue;
#pragma unroll 1
    for (int e = 0; e < together; ++e)
      if (const int j = column(e); j < c.columns)
        line[j * c.layout.column_stride] = c.epilogue.activate(sums[first + e]);
  }
}

/// Whether all sums of a warp may be scaled back in one step, and none needs fix-up, by the largest errors of its rows
/// and columns.
[[nodiscard]] __device__ inline bool are_certain(const FusedAccumulators& sums, const PackedScale (&rows)[2],
                                                 const FinalScales& ends) {
  const float row_error = fmaxf(fast_path_error(rows[0]), fast_path_error(rows[1]));
  const float column_error =
      fmaxf(fmaxf(ends.most_error[0], ends.most_error[1]), fmaxf(ends.most_error[2], ends.most_error[3]));
  float least = 0x1.fffffep127f;  // so that an infinite error never passes: fminf() overlooks the NaN that come of it
#pragma unroll
  for (int i = 0; i < thread_sums; ++i)
    least = fminf(least, fabsf(sums[i / (fused_fragment / 2)][i % (fused_fragment / 2)]));
  return __all_sync(~0u, row_error + column_error <= least);
}

/// By a warp: a bit for each sum that needs fix-up or must be scaled back with care. In the order of
/// IndexedAccumulators.
[[nodiscard]] __device__ inline std::uint64_t uncertain_sums(const FusedAccumulators& sums,
                                                             const PackedScale (&rows)[2], const FinalScales& ends) {
  const float row_error[] = {fast_path_error(rows[0]), fast_path_error(rows[1])};
  unsigned bits[2] = {};
#pragma unroll
  for (int i = 0; i < thread_sums; ++i) {
    const int g = i / 8;
    const int u = i / 2 % 4;
    const int r = i % 2;
    const float error = row_error[r] + ends.error[line_of_sum(g, u)];
    // An infinite error never passes; a NaN does, unless it is beside one.
    if (!(error <= fminf(fabsf(sum_at(sums, r, g, u)), 0x1.fffffep127f))) bits[r] |= 1u << (4 * g + u);
  }
  return std::uint64_t{bits[1]} << 32 | bits[0];
}

/// By a warp: all sums scaled back in one step.
__device__ inline void scale_back(FusedAccumulators& sums, const PackedScale (&rows)[2], const FinalScales& ends) {
#pragma unroll
  for (int g = 0; g < groups_of_four; ++g) {
    const uint4 scales = *reinterpret_cast<const uint4*>(ends.scale + line_of_sum(g, 0));
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const PackedScale column = i / 2 == 0 ? scales.x : i / 2 == 1 ? scales.y : i / 2 == 2 ? scales.z : scales.w;
      float& sum = sum_at(sums, i % 2, g, i / 2);
      // Not by a product of factors: it may be zero where the sum is Inf.
      sum =
          sum * power_of_two(static_cast<std::int16_t>(rows[i % 2])) * power_of_two(static_cast<std::int16_t>(column));
    }
  }
}

/// All of K: C. `stores_vectors`: rows of C can be written 16 bytes at a time, and the sums are the result.
__device__ inline void store_tile(FusedAccumulators& sums, const FusedCoord& at, const PackedScale (&rows)[2],
                                  const FinalScales& ends, const Output& c, bool stores_vectors,
                                  const SplitPair& operands, int batch) {
  const auto sum_of = [&](int i) { return sum_at(sums, i / (thread_sums / 2), i / 4 % groups_of_four, i % 4); };
  IndexedAccumulators indexed;
  std::uint64_t uncertain = 0;
  if (!are_certain(sums, rows, ends)) {
    uncertain = uncertain_sums(sums, rows, ends);
#pragma unroll
    for (int i = 0; i < thread_sums; ++i) indexed[i] = sum_of(i);
    settle(indexed, uncertain, at, rows, ends, c, operands, batch);
  }
  scale_back(sums, rows, ends);
  float* const to = product_base(c.data, c.layout, batch);
  if (stores_vectors) {
    store_partials(sums, to, at, c.rows, c.columns, c.layout.row_stride);
    store_some(indexed, uncertain, at, c, to);
    return;
  }
#pragma unroll
  for (int i = 0; i < thread_sums; ++i)
    if ((uncertain >> i & 1) == 0) indexed[i] = sum_of(i);
  store_settled(indexed, at, c, to);
}

}  // namespace exactile::cuda::sm90
