// SPDX-License-Identifier: Apache-2.0
/// \file
/// What epilogues of f32 by slices share: which elements a pass computes, C, and what the split found of rows of A and
/// columns of B. That says how sums are scaled back, and which elements the slices could not hold: those are fixed up,
/// or summed from A and B.
#pragma once

#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"
#include "cuda/kernels/sm90/split.hpp"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90 {

/// Which elements of C a kernel computes.
enum class Pass {
  main,      ///< all that the slices can hold; the others are marked
  halves,    ///< the same, half of a tile's columns at a time
  quarters,  ///< a quarter
  fixup,     ///< those marked by the kernel before
  split_k,   ///< all, from slices of K
};

/// Whether elements are left to the kernel after.
[[nodiscard]] constexpr bool leaves_some(Pass pass) { return pass != Pass::fixup && pass != Pass::split_k; }

/// Columns that are computed at a time.
[[nodiscard]] constexpr int width_of(Pass pass) {
  return pass == Pass::halves ? tile_n / 2 : pass == Pass::quarters ? tile_n / 4 : tile_n;
}

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
  float most_element_error;  ///< where some are left: no element with a larger one is this kernel's
};

/// Somewhat less than the error of so many: where counts are above, so are errors, however they were rounded.
[[nodiscard]] __host__ __device__ inline float most_element_error(unsigned most_underflows, float underflow_scale) {
  return static_cast<float>(most_underflows) * underflow_scale * (1 - 0x1p-10f);
}

/// Scales of the columns of a tile, for one warpgroup.
struct ColumnScales {
  alignas(8) PackedScale scale[tile_n];
};

/// By all threads of a warpgroup.
template <class Slices, int width>
__device__ inline void load_columns(ColumnScales& columns, const ProductScales& product, int first_column,
                                    int barrier) {
  isa::named_barrier(barrier, warpgroup_threads);  // those of the tile before are no longer needed
#pragma unroll
  for (int i = 0; i < (width + warpgroup_threads - 1) / warpgroup_threads; ++i) {
    const int column = i * warpgroup_threads + static_cast<int>(threadIdx.x) % warpgroup_threads;
    if (column >= width) break;
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

}  // namespace exactile::cuda::sm90
