// SPDX-License-Identifier: Apache-2.0
/// \file
/// From sums in registers to C: scale back, notice what the slices could not hold, apply the epilogue, store.
///
/// Elements whose error may exceed the promise are left to another kernel. Which ones depends on their row of A and
/// their column of B alone, so the bits of an element do not depend on what else is computed with it.
#pragma once

#include "cuda/isa/tma.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"
#include "cuda/kernels/sm90/split.hpp"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90 {

/// Elements left by one kernel to the next. All zero at first, but for `marks`, which are set where `warps` says so.
struct Leftovers {
  unsigned* any;    ///< one word: whether there are any
  unsigned* warps;  ///< [cluster tiles][cluster]: a bit for each multiplying warp
  uint4* marks;     ///< [cluster tiles][cluster][multiplying threads]: a bit for each sum
};

/// Where a thread's marks are.
[[nodiscard]] __device__ inline std::int64_t left_index(int cta_tile, int warpgroup) {
  return (static_cast<std::int64_t>(cta_tile) * consumers + warpgroup) * warpgroup_threads +
         threadIdx.x % warpgroup_threads;
}

/// C, and what is done before it is written.
struct Output {
  float* data;
  OperandLayout layout;
  int rows;
  int columns;
  bool by_tma;  ///< whole boxes can be stored: beta = 0 and TMA can address C
  Epilogue<float, float> epilogue;
};

/// What the epilogue knows of a row of A or a column of B, in one word.
/// Upper half: its share of the largest error, a bfloat16 rounded up. Lower half: the exponent that scales back.
using Line = unsigned;

/// -Inf: the line is zero (or has only Inf and NaN), so its sums are exact.
inline constexpr unsigned exact_error = 0xff800000u;

template <class Slices>
[[nodiscard]] __device__ inline Line line_of(unsigned max_bits, unsigned tiny, float tiny_scale) {
  const unsigned exponent = static_cast<unsigned>(-scale_exponent<Slices>(max_bits)) & 0xffffu;
  if (max_bits == 0) return exact_error | exponent;
  // A line without tiny elements adds no error, even where tiny_scale is infinite.
  if (tiny == 0) return exponent;
  return (__float_as_uint(static_cast<float>(tiny) * tiny_scale) + 0xffffu & 0xffff0000u) | exponent;
}

[[nodiscard]] __device__ inline float error_of(Line line) { return __uint_as_float(line & 0xffff0000u); }

/// sum times two powers of two. Taken together and then in halves, so that no step overflows unless the result does.
[[nodiscard]] __device__ inline float scaled_back(float sum, Line row, Line column) {
  const int exponent = static_cast<std::int16_t>(row) + static_cast<std::int16_t>(column);
  const int half = exponent >> 1;
  return sum * power_of_two(half) * power_of_two(exponent - half);
}

/// False for NaN and Inf: those are what they must be.
[[nodiscard]] __device__ inline bool is_doubtful(float sum, Line row, Line column) {
  return error_of(row) + error_of(column) > fabsf(sum);
}

/// The place in C of a warpgroup's sums, and of a thread's within.
struct SumPlace {
  int row;     ///< of the warpgroup's first
  int column;  ///< of the tile's first
  int batch;
  int warp;  ///< within the warpgroup
  int lane;

  [[nodiscard]] __device__ int thread_row(int r) const { return row + 16 * warp + lane / 4 + 8 * r; }
  [[nodiscard]] __device__ int thread_column(int f, int j) const { return column + fragment_n * f + 8 * j + 2 * (lane % 4); }
};

/// 64 rows of 32 columns of C on their way out, swizzled as TMA expects it: 16 bytes at (c ^ row % 8) instead of c.
struct Staging {
  static constexpr int columns = 32;
  static constexpr int bytes = 64 * columns * 4;
  alignas(1024) std::byte data[bytes];

  [[nodiscard]] __device__ std::byte* at(int row, int column) {
    return data + row * columns * 4 + ((column / 4 ^ row % 8) * 16) + column % 4 * 4;
  }
};

/// Stands for an element that is left to the next kernel. No operation makes this NaN.
inline constexpr std::uint32_t left_bits = 0x7fe5ca1eu;

/// What is known of the rows of A and columns of B of the product that a tile belongs to.
struct ProductFacts {
  LineFacts rows;
  LineFacts columns;
  float tiny_scale;
};

/// Lines of the columns of a tile, for one warpgroup.
struct ColumnLines {
  alignas(8) Line line[tile_n];
};

/// By all threads of a warpgroup.
template <class Slices>
__device__ inline void load_columns(ColumnLines& columns, const ProductFacts& product, int first_column, int barrier) {
  isa::named_barrier(barrier, warpgroup_threads);  // those of the tile before are no longer needed
#pragma unroll
  for (int i = 0; i < tile_n / warpgroup_threads; ++i) {
    const int column = i * warpgroup_threads + static_cast<int>(threadIdx.x) % warpgroup_threads;
    columns.line[column] = line_of<Slices>(product.columns.max_bits[first_column + column],
                                           product.columns.tiny[first_column + column], product.tiny_scale);
  }
  isa::named_barrier(barrier, warpgroup_threads);
}

/// Rows of a warp from staging to C, 32 neighbouring columns at a time.
__device__ inline void store_rows(const Output& c, Staging& staging, const SumPlace& at, int column) {
  const std::int64_t first_row = at.row + 16 * at.warp;
  const std::int64_t j = column + at.lane;
  const int rows = j < c.columns ? min(16, c.rows - static_cast<int>(first_row)) : 0;
  float* const to = product_base(c.data, c.layout, at.batch) + first_row * c.layout.row_stride + j * c.layout.column_stride;
  constexpr int together = 8;  // rows whose loads are in flight at a time
#pragma unroll 1
  for (int first = 0; first < rows; first += together) {
    float before[together];
#pragma unroll
    for (int r = 0; r < together; ++r)
      before[r] = c.epilogue.reads_c && first + r < rows ? to[(first + r) * c.layout.row_stride] : 0.0f;
#pragma unroll
    for (int r = 0; r < together; ++r) {
      const float sum = *reinterpret_cast<const float*>(staging.at(16 * at.warp + first + r, at.lane));
      if (first + r >= rows || __float_as_uint(sum) == left_bits) continue;
      to[(first + r) * c.layout.row_stride] =
          c.epilogue.is_plain ? sum : c.epilogue.value(sum, before[r], first_row + first + r, j);
    }
  }
}

/// Stores a warpgroup's sums; notes what it leaves. `barrier`: a named barrier of the warpgroup's own.
template <class Slices>
__device__ inline void store_tile(const Sums& sums, const Output& c, const CUtensorMap* c_map, Staging (&staging)[2],
                                  const ColumnLines& columns, const SumPlace& at, int barrier,
                                  const ProductFacts& product, const Leftovers& left, int cta_tile, int warpgroup) {
  Line rows[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = at.thread_row(r);
    rows[r] = line_of<Slices>(product.rows.max_bits[row], product.rows.tiny[row], product.tiny_scale);
  }
  const bool is_issuer = at.warp == 0 && at.lane == 0;
  unsigned marks[4] = {};
#pragma unroll
  for (int piece = 0; piece < tile_n / Staging::columns; ++piece) {
    constexpr int pieces = fragment_n / Staging::columns;
    const int f = piece / pieces;
    Staging& out = staging[piece % 2];
    const int first_column = at.column + piece * Staging::columns;
    if (first_column >= c.columns) break;
    if (c.by_tma) {
      if (is_issuer) isa::tma_store_wait_read<1>();
      isa::named_barrier(barrier, warpgroup_threads);
    } else {
      __syncwarp();
    }
#pragma unroll
    for (int g = 0; g < Staging::columns / 8; ++g) {
      const int j = piece % pieces * 4 + g;
      const int column = at.thread_column(f, j);
      const uint2 lines = *reinterpret_cast<const uint2*>(columns.line + (column - at.column));
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float pair[2];
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          const int index = 4 * j + 2 * r + s;
          const Line line = s == 0 ? lines.x : lines.y;
          const float sum = sums[f][index];
          pair[s] = scaled_back(sum, rows[r], line);
          if (c.by_tma && !c.epilogue.is_plain && at.thread_row(r) < c.rows && column + s < c.columns)
            pair[s] = c.epilogue.value(pair[s], 0.0f, at.thread_row(r), column + s);
          if (is_doubtful(sum, rows[r], line)) {
            marks[2 * f + index / 32] |= 1u << index % 32;
            pair[s] = __uint_as_float(left_bits);
          }
        }
        *reinterpret_cast<float2*>(out.at(16 * at.warp + at.lane / 4 + 8 * r, 8 * g + 2 * (at.lane % 4))) =
            make_float2(pair[0], pair[1]);
      }
    }
    if (c.by_tma) {
      isa::async_proxy_fence();
      isa::named_barrier(barrier, warpgroup_threads);
      if (is_issuer) {
        isa::tma_store(c_map, first_column, at.row, at.batch, &out);
        isa::tma_store_commit();
      }
    } else {
      __syncwarp();
      store_rows(c, out, at, first_column);
    }
  }
  if (__any_sync(~0u, (marks[0] | marks[1] | marks[2] | marks[3]) != 0)) {
    left.marks[left_index(cta_tile, warpgroup)] = make_uint4(marks[0], marks[1], marks[2], marks[3]);
    if (at.lane == 0) {
      atomicOr(left.warps + cta_tile, 1u << (4 * warpgroup + at.warp));
      *left.any = 1;
    }
  }
}

/// sum_k a_ik * b_kj by a warp, in a fixed order.
[[nodiscard]] __device__ inline float warp_sum(const SplitPair& operands, int batch, std::int64_t i, std::int64_t j) {
  const SplitOperand& a = operands.a;
  const SplitOperand& b = operands.b;
  const float* x = product_base(a.data, a.layout, batch) + i * a.layout.row_stride;
  const float* y = product_base(b.data, b.layout, batch) + j * b.layout.row_stride;
  float sum = 0;
#pragma unroll 4
  for (std::int64_t k = threadIdx.x % 32; k < a.k; k += 32)
    sum = fmaf(x[k * a.layout.column_stride], y[k * b.layout.column_stride], sum);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  return sum;
}

/// Stores those of a warpgroup's sums that are marked. What these slices cannot hold either is summed from A and B.
template <class Slices>
__device__ inline void store_marked(const Sums& sums, const Output& c, const SumPlace& at, const ProductFacts& product,
                                    uint4 marks, const SplitPair& operands) {
  const unsigned words[4] = {marks.x, marks.y, marks.z, marks.w};
  float* base = product_base(c.data, c.layout, at.batch);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int i = at.thread_row(r);
    const Line row = line_of<Slices>(product.rows.max_bits[i], product.rows.tiny[i], product.tiny_scale);
#pragma unroll
    for (int f = 0; f < fragments; ++f) {
#pragma unroll
      for (int index = 2 * r; index < fragment_n / 2; index += index % 2 == 0 ? 1 : 3) {
        const int j = at.thread_column(f, index / 4) + index % 2;
        const bool is_due = (words[2 * f + index / 32] >> index % 32 & 1) != 0 && i < c.rows && j < c.columns;
        if (!__any_sync(~0u, is_due)) continue;
        const Line column =
            line_of<Slices>(product.columns.max_bits[j], product.columns.tiny[j], product.tiny_scale);
        float x = scaled_back(sums[f][index], row, column);
        for (unsigned doubtful = __ballot_sync(~0u, is_due && is_doubtful(sums[f][index], row, column)); doubtful != 0;
             doubtful &= doubtful - 1) {
          const int lane = __ffs(static_cast<int>(doubtful)) - 1;
          const float sum = warp_sum(operands, at.batch, __shfl_sync(~0u, i, lane), __shfl_sync(~0u, j, lane));
          if (at.lane == lane) x = sum;
        }
        if (is_due) c.epilogue.store(base + i * c.layout.row_stride + j * c.layout.column_stride, x, i, j);
      }
    }
  }
}

}  // namespace exactile::cuda::sm90
