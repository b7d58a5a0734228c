// SPDX-License-Identifier: Apache-2.0
/// \file
/// From sums in registers to C: scale back, notice what the slices could not hold, apply the epilogue, store.
///
/// Elements whose error may exceed the promise are left to the fix-up kernels. Which ones depends on their row of A and
/// their column of B alone, so the bits of an element do not depend on what else is computed with it.
#pragma once

#include "cuda/isa/opaque.cuh"
#include "cuda/isa/tma.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"
#include "cuda/kernels/sm90/split.hpp"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90 {

/// Which elements of C a kernel computes.
enum class Pass {
  main,     ///< all that the slices can hold; the others are marked
  fixup,    ///< those marked by the kernel before
  single,   ///< all
  split_k,  ///< all, from slices of K
};

/// C, and what is done before it is written.
struct Output {
  float* data;
  OperandLayout layout;
  int rows;
  int columns;
  bool by_tma;  ///< TMA can address C, and the sums are the result
  Epilogue<float, float> epilogue;
  std::uint64_t* summed = nullptr;  ///< counts the elements summed from A and B, if not null
};

/// By one thread.
__device__ inline void count_f32_sums(const Output& c, int elements) {
  if (c.summed != nullptr)
    atomicAdd(reinterpret_cast<unsigned long long*>(c.summed), static_cast<unsigned long long>(elements));
}

/// What the epilogue knows of a row of A or a column of B, in one word.
/// Upper half: its share of the largest error, a bfloat16 rounded up. Lower half: the exponent that scales back.
using PackedScale = unsigned;

/// -Inf: the row or column is zero (or has only Inf and NaN), so its sums are exact.
inline constexpr unsigned exact_error = 0xff800000u;

/// As a count of underflows: the slices are wrong, and its sums may be NaN where they should not. Its error is
/// infinite.
inline constexpr unsigned lost_scale = ~0u;

template <class Slices>
[[nodiscard]] __device__ inline PackedScale packed_scale(unsigned max_bits, unsigned underflows,
                                                         float underflow_scale) {
  const unsigned exponent = static_cast<unsigned>(-scale_exponent<Slices>(max_bits)) & 0xffffu;
  if (max_bits == 0) return exact_error | exponent;
  // A row or column without tiny elements adds no error, even where underflow_scale is infinite.
  if (underflows == 0) return exponent;
  if (underflows == lost_scale) return 0x7f800000u | exponent;
  return (__float_as_uint(static_cast<float>(underflows) * underflow_scale) + 0xffffu & 0xffff0000u) | exponent;
}

[[nodiscard]] __device__ inline float error_of(PackedScale scale) { return __uint_as_float(scale & 0xffff0000u); }

/// Exponents by which sums can be scaled back with no third step: those of a row and a column together are an f32's.
inline constexpr int most_single_exponent = 63;

/// Its error, or Inf where its sums must be scaled back with care: what the fast path compares with.
[[nodiscard]] __device__ inline float fast_path_error(PackedScale scale) {
  const float error = error_of(scale);
  const bool is_zero = error == -__builtin_inff();
  return is_zero || abs(static_cast<int>(static_cast<std::int16_t>(scale))) <= most_single_exponent ? error
                                                                                                    : __builtin_inff();
}

/// sum times two powers of two. Taken together and then in halves, so that no step overflows unless the result does.
[[nodiscard]] __device__ inline float scaled_back(float sum, PackedScale row, PackedScale column) {
  const int exponent = static_cast<std::int16_t>(row) + static_cast<std::int16_t>(column);
  const int half = exponent >> 1;
  return sum * power_of_two(half) * power_of_two(exponent - half);
}

/// False for NaN and Inf: those are what they must be. True, whatever the sum, where the error is above `most_error`.
[[nodiscard]] __device__ inline bool needs_fixup(float sum, PackedScale row, PackedScale column,
                                                 float most_error = __builtin_inff()) {
  return error_of(row) + error_of(column) > fminf(fabsf(sum), most_error);
}

/// Whether an element must be summed from A and B. Slices of an infinite error may have made a NaN where none is.
[[nodiscard]] __device__ inline bool needs_f32_sum(float sum, PackedScale row, PackedScale column) {
  return needs_fixup(sum, row, column) || fmaxf(error_of(row), error_of(column)) == __builtin_inff();
}

/// The coordinates in C of a warpgroup's accumulators, and of a thread's within.
struct FragmentCoord {
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

/// Scales of one product's rows or columns; an operand that all products share has them once.
[[nodiscard]] __device__ inline VectorScales scales_of(const SplitOperand& operand, int batch) {
  const std::int64_t first = static_cast<std::int64_t>(operand.batches == 1 ? 0 : batch) * operand.scales_pitch;
  return {operand.scales.max_bits + first, operand.scales.underflows + first};
}

/// What is known of the rows of A and columns of B of the product that a tile belongs to.
struct ProductScales {
  VectorScales rows;
  VectorScales columns;
  float underflow_scale;
  float most_element_error;  ///< in Pass::main: no element with a larger one is this kernel's
};

/// Scales of the columns of a tile, for one warpgroup.
struct ColumnScales {
  alignas(8) PackedScale scale[tile_n];
};

/// By all threads of a warpgroup.
template <class Slices>
__device__ inline void load_columns(ColumnScales& columns, const ProductScales& product, int first_column,
                                    int barrier) {
  isa::named_barrier(barrier, warpgroup_threads);  // those of the tile before are no longer needed
#pragma unroll
  for (int i = 0; i < tile_n / warpgroup_threads; ++i) {
    const int column = i * warpgroup_threads + static_cast<int>(threadIdx.x) % warpgroup_threads;
    columns.scale[column] =
        packed_scale<Slices>(product.columns.max_bits[first_column + column],
                             product.columns.underflows[first_column + column], product.underflow_scale);
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
template <Pass pass, int columns>
__device__ inline void store_rows(const Output& c, Staging<columns>& staging, const FragmentCoord& at, int column,
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
      if constexpr (pass != Pass::main) {
        unsigned unsummed = __ballot_sync(~0u, r < rows && __float_as_uint(sum) == unsummed_bits);
        if (unsummed != 0 && at.lane == 0) count_f32_sums(c, __popc(unsummed));
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
  ColumnScales scales;
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

/// The first sums of all threads to staging, scaled back; marks of those that are not this kernel's. `wanted`: marks of
/// those that are, in Pass::fixup.
template <Pass pass, int columns>
[[nodiscard]] __device__ inline unsigned stage_piece(const Sums& sums, Staging<columns>& to,
                                                     const PackedScale* column_scales, const PackedScale (&rows)[2],
                                                     const FragmentCoord& at, float most_error, unsigned wanted) {
  unsigned marks = 0;
#pragma unroll
  for (int g = 0; g < columns / 8; ++g) {
    const int column = 8 * g + 2 * (at.lane % 4);
    const uint2 scales = *reinterpret_cast<const uint2*>(column_scales + column);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float pair[2];
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const int index = 4 * g + 2 * r + s;
        const PackedScale scale = s == 0 ? scales.x : scales.y;
        const float sum = sums[0][index];
        const unsigned mark = 1u << index;
        pair[s] = scaled_back(sum, rows[r], scale);
        if (needs_fixup(sum, rows[r], scale, pass == Pass::main ? most_error : __builtin_inff())) {
          if (pass == Pass::main) marks |= mark;
          pair[s] = __uint_as_float(pass == Pass::main ? skipped_bits : unsummed_bits);
        }
        if (pass == Pass::fixup && (wanted & mark) == 0) pair[s] = __uint_as_float(skipped_bits);
      }
      *reinterpret_cast<float2*>(to.at(16 * at.warp + at.lane / 4 + 8 * r, column)) = make_float2(pair[0], pair[1]);
    }
  }
  return marks;
}

/// Stores a warpgroup's sums, piece by piece. The code for storing by rows is there once: for each of 16 pieces it took
/// longer to come from memory than to run.
template <class Slices, Pass pass, bool by_tma, class Space>
__device__ inline void store_pieces(Sums& sums, const Output& c, const CUtensorMap* c_map, Space& space,
                                    const FragmentCoord& at, int barrier, const ProductScales& product,
                                    const SplitPair& operands, unsigned (&marks)[4]) {
  PackedScale rows[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = at.thread_row(r);
    rows[r] = packed_scale<Slices>(product.rows.max_bits[row], product.rows.underflows[row], product.underflow_scale);
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
      piece_marks = stage_piece<pass>(sums, out, space.scales.scale + piece * Space::columns, rows, at,
                                      product.most_element_error, marks[0]);
      if constexpr (by_tma) {
        isa::async_proxy_fence();
        isa::named_barrier(barrier, warpgroup_threads);
        if (is_issuer) {
          isa::tma_store(c_map, first_column, at.row, at.batch, &out);
          isa::tma_store_commit();
        }
      } else {
        __syncwarp();
        store_rows<pass>(c, out, at, first_column, operands);
      }
    }
    take_forward<piece_sums>(sums);
    if constexpr (pass == Pass::main || pass == Pass::fixup) take_forward<piece_sums>(marks, piece_marks);
  }
}

/// Stores a warpgroup's sums. `marks`: which to store in Pass::fixup; afterwards, which need fix-up in Pass::main.
/// `barrier`: a named barrier of the warpgroup's own.
template <class Slices, Pass pass, class Space>
__device__ inline void store_tile(Sums& sums, const Output& c, const CUtensorMap* c_map, Space& space,
                                  const FragmentCoord& at, int barrier, const ProductScales& product,
                                  const SplitPair& operands, unsigned (&marks)[4]) {
  if (pass == Pass::main && c.by_tma) {
    store_pieces<Slices, pass, true>(sums, c, c_map, space, at, barrier, product, operands, marks);
  } else {
    // Not kept from further up: there is more to be found here, and fewer registers for it.
    const FragmentCoord here{at.row, at.column, at.batch, isa::opaque(at.warp), isa::opaque(at.lane)};
    store_pieces<Slices, pass, false>(sums, c, c_map, space, here, barrier, product, operands, marks);
  }
}

}  // namespace exactile::cuda::sm90
