// SPDX-License-Identifier: Apache-2.0
/// \file
/// From sums in registers to C: scale back, notice what the slices could not hold, apply the epilogue, store.
///
/// Elements whose error may exceed the promise are left to another kernel. Which ones depends on their row of A and
/// their column of B alone, so the bits of an element do not depend on what else is computed with it.
#pragma once

#include "cuda/isa/here.cuh"
#include "cuda/isa/tma.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"
#include "cuda/kernels/sm90/split.hpp"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90 {

/// Which elements of C a kernel computes.
enum class Turn {
  first,      ///< all that the slices can hold; the others are marked
  leftovers,  ///< those marked by the kernel before
  all,        ///< all
  part,       ///< all, from parts of K
};

/// C, and what is done before it is written.
struct Output {
  float* data;
  OperandLayout layout;
  int rows;
  int columns;
  bool by_tma;  ///< TMA can address C, and the sums are the result
  Epilogue<float, float> epilogue;
  std::uint64_t* summed = nullptr;  ///< counts the elements summed from A and B, where somebody asks
};

/// By one thread.
__device__ inline void count_summed(const Output& c, int elements) {
  if (c.summed != nullptr)
    atomicAdd(reinterpret_cast<unsigned long long*>(c.summed), static_cast<unsigned long long>(elements));
}

/// What the epilogue knows of a row of A or a column of B, in one word.
/// Upper half: its share of the largest error, a bfloat16 rounded up. Lower half: the exponent that scales back.
using Line = unsigned;

/// -Inf: the line is zero (or has only Inf and NaN), so its sums are exact.
inline constexpr unsigned exact_error = 0xff800000u;

/// As many tiny elements: the line's slices are wrong, and its sums may be NaN where they should not. Its error is
/// infinite.
inline constexpr unsigned lost_line = ~0u;

template <class Slices>
[[nodiscard]] __device__ inline Line line_of(unsigned max_bits, unsigned tiny, float tiny_scale) {
  const unsigned exponent = static_cast<unsigned>(-scale_exponent<Slices>(max_bits)) & 0xffffu;
  if (max_bits == 0) return exact_error | exponent;
  // A line without tiny elements adds no error, even where tiny_scale is infinite.
  if (tiny == 0) return exponent;
  if (tiny == lost_line) return 0x7f800000u | exponent;
  return (__float_as_uint(static_cast<float>(tiny) * tiny_scale) + 0xffffu & 0xffff0000u) | exponent;
}

[[nodiscard]] __device__ inline float error_of(Line line) { return __uint_as_float(line & 0xffff0000u); }

/// Exponents by which sums can be scaled back with no third step: those of a row and a column together are an f32's.
inline constexpr int most_single_exponent = 63;

/// A line's error, or Inf where its sums must be scaled back with care.
[[nodiscard]] __device__ inline float quick_error(Line line) {
  const float error = error_of(line);
  const bool is_zero = error == -__builtin_inff();
  return is_zero || abs(static_cast<int>(static_cast<std::int16_t>(line))) <= most_single_exponent ? error
                                                                                                   : __builtin_inff();
}

/// sum times two powers of two. Taken together and then in halves, so that no step overflows unless the result does.
[[nodiscard]] __device__ inline float scaled_back(float sum, Line row, Line column) {
  const int exponent = static_cast<std::int16_t>(row) + static_cast<std::int16_t>(column);
  const int half = exponent >> 1;
  return sum * power_of_two(half) * power_of_two(exponent - half);
}

/// False for NaN and Inf: those are what they must be. True, whatever the sum, where the error is above `hopeless`.
[[nodiscard]] __device__ inline bool is_doubtful(float sum, Line row, Line column, float hopeless = __builtin_inff()) {
  return error_of(row) + error_of(column) > fminf(fabsf(sum), hopeless);
}

/// Whether an element must be summed from A and B. Slices of an infinite error may have made a NaN where none is.
[[nodiscard]] __device__ inline bool is_summed(float sum, Line row, Line column) {
  return is_doubtful(sum, row, column) || fmaxf(error_of(row), error_of(column)) == __builtin_inff();
}

/// The place in C of a warpgroup's sums, and of a thread's within.
struct SumPlace {
  int row;     ///< of the warpgroup's first
  int column;  ///< of the tile's first
  int batch;
  int warp;  ///< within the warpgroup
  int lane;

  [[nodiscard]] __device__ int thread_row(int r) const { return row + 16 * warp + lane / 4 + 8 * r; }
};

/// 64 rows of C on their way out; 32 columns are swizzled as TMA expects it: 16 bytes at (c ^ row % 8) instead of c.
template <int columns>
struct Staging {
  alignas(columns * 32) std::byte data[64 * columns * 4];

  [[nodiscard]] __device__ std::byte* at(int row, int column) {
    return data + row * columns * 4 + ((column / 4 ^ row % (columns / 4)) * 16) + column % 4 * 4;
  }
};

/// NaNs that no operation makes. They stand for an element that is not stored, and for one to be summed from A and B.
inline constexpr unsigned skipped_bits = 0x7fe5ca1eu;
inline constexpr unsigned unsummed_bits = 0x7fe5ca1fu;

/// Facts of one product's lines; an operand that all products share has them once.
[[nodiscard]] __device__ inline LineFacts facts_of(const SplitOperand& operand, int batch) {
  const std::int64_t first = static_cast<std::int64_t>(operand.batches == 1 ? 0 : batch) * operand.facts_pitch;
  return {operand.facts.max_bits + first, operand.facts.tiny + first};
}

/// What is known of the rows of A and columns of B of the product that a tile belongs to.
struct ProductFacts {
  LineFacts rows;
  LineFacts columns;
  float tiny_scale;
  float hopeless_error;  ///< in Turn::first: no element with a larger one is this kernel's
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

/// sum_k a_ik * b_kj, k from `first` to before `last`, by a warp, in a fixed order.
template <int in_flight>
[[nodiscard]] __device__ inline float warp_sum(const SplitPair& operands, int batch, std::int64_t i, std::int64_t j,
                                               int first, int last) {
  const SplitOperand& a = operands.a;
  const SplitOperand& b = operands.b;
  const float* x = product_base(a.data, a.layout, batch) + i * a.layout.row_stride;
  const float* y = product_base(b.data, b.layout, batch) + j * b.layout.row_stride;
  float sum = 0;
#pragma unroll in_flight
  for (std::int64_t k = first + threadIdx.x % 32; k < last; k += 32)
    sum = fmaf(x[k * a.layout.column_stride], y[k * b.layout.column_stride], sum);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  return sum;
}

/// The same for all of K.
template <int in_flight = 4>
[[nodiscard]] __device__ inline float warp_sum(const SplitPair& operands, int batch, std::int64_t i, std::int64_t j) {
  return warp_sum<in_flight>(operands, batch, i, j, 0, operands.a.k);
}

/// Rows of a warp from staging to C, neighbouring columns at a time. This is there once for every piece of a tile, so
/// it must be short: the activation has a loop of its own.
template <Turn turn, int columns>
__device__ inline void store_rows(const Output& c, Staging<columns>& staging, const SumPlace& at, int column,
                                  const SplitPair& operands) {
  constexpr int rows_at_once = 32 / columns;
  constexpr int together = 8;  // whose loads are in flight at a time
  Epilogue<float, float> linear = c.epilogue;
  linear.activation = Activation::none;
  const int j = column + at.lane % columns;
  float* const base = product_base(c.data, c.layout, at.batch) + j * c.layout.column_stride;
  const std::int64_t step = rows_at_once * c.layout.row_stride;
#pragma unroll 1
  for (int done = 0; done < 16; done += together * rows_at_once) {
    const int first = 16 * at.warp + done + at.lane / columns;
    // Rows of this thread that are there.
    const int rows = j < c.columns ? (c.rows - at.row - first + rows_at_once - 1) / rows_at_once : 0;
    float* const to = base + (at.row + first) * c.layout.row_stride;
    float before[together];
#pragma unroll
    for (int r = 0; r < together; ++r) before[r] = c.epilogue.reads_c && r < rows ? to[r * step] : 0.0f;
#pragma unroll
    for (int r = 0; r < together; ++r) {
      const int i = at.row + first + r * rows_at_once;
      auto* const staged = reinterpret_cast<float*>(staging.at(first + r * rows_at_once, at.lane % columns));
      float sum = *staged;
      if constexpr (turn != Turn::first) {
        unsigned unsummed = __ballot_sync(~0u, r < rows && __float_as_uint(sum) == unsummed_bits);
        if (unsummed != 0 && at.lane == 0) count_summed(c, __popc(unsummed));
        for (; unsummed != 0; unsummed &= unsummed - 1) {
          const int lane = __ffs(static_cast<int>(unsummed)) - 1;
          const float summed = warp_sum(operands, at.batch, __shfl_sync(~0u, i, lane), __shfl_sync(~0u, j, lane));
          if (at.lane == lane) sum = summed;
        }
      }
      if (r >= rows || __float_as_uint(sum) == skipped_bits) continue;
      if (!linear.is_plain) sum = linear.value(sum, before[r], i, j);
      if (c.epilogue.activation == Activation::none) {
        to[r * step] = sum;
      } else {
        *staged = sum;
      }
    }
    if (c.epilogue.activation == Activation::none) continue;
#pragma unroll 1
    for (int r = 0; r < min(rows, together); ++r) {
      const float sum = *reinterpret_cast<const float*>(staging.at(first + r * rows_at_once, at.lane % columns));
      if (__float_as_uint(sum) != skipped_bits) to[r * step] = c.epilogue.activate(sum);
    }
  }
}

/// What a warpgroup needs beside its sums to store them.
template <int staging_columns, int staging_buffers>
struct StoreSpace {
  static constexpr int columns = staging_columns;
  static constexpr int buffers = staging_buffers;
  Staging<columns> staging[buffers];
  ColumnLines lines;
};

/// The first `count` sums go, and the others come forward. So pieces of a tile can be taken in a loop although
/// registers cannot be counted through.
template <int count>
__device__ inline void take_forward(Sums& sums) {
  constexpr int in_fragment = fragment_n / 2;
#pragma unroll
  for (int i = 0; i + count < fragments * in_fragment; ++i)
    sums[i / in_fragment][i % in_fragment] = sums[(i + count) / in_fragment][(i + count) % in_fragment];
}

/// The first `count` marks of four words go, others come forward, and `last` come behind them.
template <int count>
__device__ inline void take_forward(unsigned (&marks)[4], unsigned last) {
#pragma unroll
  for (int i = 0; i < 4; ++i) marks[i] = __funnelshift_r(marks[i], i < 3 ? marks[i + 1] : last, count);
}

/// The first sums of all threads to staging, scaled back; marks of those that are not this kernel's. `wanted`: marks
/// of those that are, in Turn::leftovers.
template <Turn turn, int columns>
[[nodiscard]] __device__ inline unsigned stage_piece(const Sums& sums, Staging<columns>& to, const Line* column_lines,
                                                     const Line (&rows)[2], const SumPlace& at, float hopeless,
                                                     unsigned wanted) {
  unsigned marks = 0;
#pragma unroll
  for (int g = 0; g < columns / 8; ++g) {
    const int column = 8 * g + 2 * (at.lane % 4);
    const uint2 lines = *reinterpret_cast<const uint2*>(column_lines + column);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float pair[2];
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const int index = 4 * g + 2 * r + s;
        const Line line = s == 0 ? lines.x : lines.y;
        const float sum = sums[0][index];
        const unsigned mark = 1u << index;
        pair[s] = scaled_back(sum, rows[r], line);
        if (is_doubtful(sum, rows[r], line, turn == Turn::first ? hopeless : __builtin_inff())) {
          if (turn == Turn::first) marks |= mark;
          pair[s] = __uint_as_float(turn == Turn::first ? skipped_bits : unsummed_bits);
        }
        if (turn == Turn::leftovers && (wanted & mark) == 0) pair[s] = __uint_as_float(skipped_bits);
      }
      *reinterpret_cast<float2*>(to.at(16 * at.warp + at.lane / 4 + 8 * r, column)) = make_float2(pair[0], pair[1]);
    }
  }
  return marks;
}

/// Stores a warpgroup's sums, piece by piece. The code for storing by rows is there once: for each of 16 pieces it took
/// longer to come from memory than to run.
template <class Slices, Turn turn, bool by_tma, class Space>
__device__ inline void store_pieces(Sums& sums, const Output& c, const CUtensorMap* c_map, Space& space,
                                    const SumPlace& at, int barrier, const ProductFacts& product,
                                    const SplitPair& operands, unsigned (&marks)[4]) {
  Line rows[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = at.thread_row(r);
    rows[r] = line_of<Slices>(product.rows.max_bits[row], product.rows.tiny[row], product.tiny_scale);
  }
  const bool is_issuer = at.warp == 0 && at.lane == 0;
  constexpr int piece_sums = Space::columns / 2;
  constexpr int pieces = tile_n / Space::columns;
#pragma unroll(by_tma ? pieces : 1)
  for (int piece = 0; piece < pieces; ++piece) {
    auto& out = space.staging[piece % Space::buffers];
    const int first_column = at.column + piece * Space::columns;
    unsigned piece_marks = 0;
    if (first_column < c.columns) {
      if constexpr (by_tma) {
        // The tile before may have ended in either half of the staging.
        if (is_issuer) piece == 0 ? isa::tma_store_wait_read<0>() : isa::tma_store_wait_read<1>();
        isa::named_barrier(barrier, warpgroup_threads);
      } else {
        __syncwarp();
      }
      piece_marks = stage_piece<turn>(sums, out, space.lines.line + piece * Space::columns, rows, at,
                                      product.hopeless_error, marks[0]);
      if constexpr (by_tma) {
        isa::async_proxy_fence();
        isa::named_barrier(barrier, warpgroup_threads);
        if (is_issuer) {
          isa::tma_store(c_map, first_column, at.row, at.batch, &out);
          isa::tma_store_commit();
        }
      } else {
        __syncwarp();
        store_rows<turn>(c, out, at, first_column, operands);
      }
    }
    take_forward<piece_sums>(sums);
    if constexpr (turn == Turn::first || turn == Turn::leftovers) take_forward<piece_sums>(marks, piece_marks);
  }
}

/// Stores a warpgroup's sums. `marks`: which to store in Turn::leftovers; afterwards, which are left in Turn::first.
/// `barrier`: a named barrier of the warpgroup's own.
template <class Slices, Turn turn, class Space>
__device__ inline void store_tile(Sums& sums, const Output& c, const CUtensorMap* c_map, Space& space,
                                  const SumPlace& at, int barrier, const ProductFacts& product,
                                  const SplitPair& operands, unsigned (&marks)[4]) {
  if (turn == Turn::first && c.by_tma) {
    store_pieces<Slices, turn, true>(sums, c, c_map, space, at, barrier, product, operands, marks);
  } else {
    // Not kept from further up: there is more to be found here, and fewer registers for it.
    const SumPlace here{at.row, at.column, at.batch, isa::found_anew(at.warp), isa::found_anew(at.lane)};
    store_pieces<Slices, turn, false>(sums, c, c_map, space, here, barrier, product, operands, marks);
  }
}

}  // namespace exactile::cuda::sm90
