// SPDX-License-Identifier: Apache-2.0
/// \file
/// C, and what is done before it is written. What is stored as 16 or 32 bits is decided at run time: it is a small part
/// of the work, and each kernel then exists once for all types of C.
#pragma once

#include "cuda/kernels/sm90/native/tile.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90::native {

/// How sums get to C.
enum class StoreBy : int {
  boxes,     ///< TMA: alpha * sums, rows contiguous, addresses and widths as it needs them
  columns,   ///< the same where columns are contiguous
  rows,      ///< alpha * sums, rows contiguous at any address
  elements,  ///< everything else
};

/// C and what is done before it is written.
template <class Accumulator>
struct Output {
  void* data;
  OperandLayout layout;
  int rows;
  int columns;
  ElementType type;
  StoreBy store_by;
  bool is_aligned;  ///< rows begin and end at multiples of 16 bytes
  Accumulator alpha;
  Accumulator beta;
  bool reads_c;
  bool is_plain;                  ///< a scaled sum is the result
  const Accumulator* row_scales;  ///< null: none
  const Accumulator* column_scales;
  bool is_transposed;  ///< rows are the caller's columns
  Bias bias_kind;
  Activation activation;
  const void* bias;

  [[nodiscard]] __device__ Accumulator load(const void* from, std::int64_t index) const {
    if constexpr (std::is_integral_v<Accumulator>) {
      return static_cast<const Accumulator*>(from)[index];
    } else {
      if (type == ElementType::f32) return static_cast<const float*>(from)[index];
      if (type == ElementType::f16) return __half2float(static_cast<const __half*>(from)[index]);
      return __bfloat162float(static_cast<const __nv_bfloat16*>(from)[index]);
    }
  }
  __device__ void store(void* to, std::int64_t index, Accumulator x) const {
    if constexpr (std::is_integral_v<Accumulator>) {
      static_cast<Accumulator*>(to)[index] = x;
    } else if (type == ElementType::f32) {
      static_cast<float*>(to)[index] = x;
    } else {
      static_cast<std::uint16_t*>(to)[index] = half_bits(x);
    }
  }
  /// x in the 16 bits of C's type.
  [[nodiscard]] __device__ std::uint16_t half_bits(float x) const {
    return type == ElementType::f16 ? __half_as_ushort(__float2half_rn(x))
                                    : __bfloat16_as_ushort(__float2bfloat16_rn(x));
  }
  /// Two of them, the first in the low bits. Products of bf16 are never stored as f16.
  template <class In>
  [[nodiscard]] __device__ std::uint32_t half_pair(float x, float y) const {
    union {
      __nv_bfloat162 bf16;
      __half2 f16;
      std::uint32_t bits;
    } pair;
    if (!std::is_same_v<In, __nv_bfloat16> && type == ElementType::f16) {
      pair.f16 = __floats2half2_rn(x, y);
    } else {
      pair.bf16 = __floats2bfloat162_rn(x, y);
    }
    return pair.bits;
  }
  [[nodiscard]] __device__ bool has_scales() const { return row_scales != nullptr || column_scales != nullptr; }
  /// sum times the scales of its row and column, the caller's row first
  [[nodiscard]] __device__ Accumulator scaled(Accumulator sum, std::int64_t i, std::int64_t j) const {
    const auto apply = [&sum](const Accumulator* scales, std::int64_t index) {
      if (scales != nullptr) sum = multiply(sum, scales[index]);
    };
    if (is_transposed) apply(column_scales, j);
    apply(row_scales, i);
    if (!is_transposed) apply(column_scales, j);
    return sum;
  }
  /// activation(alpha * sum + beta * before + bias) of a scaled sum
  [[nodiscard]] __device__ Accumulator value(Accumulator sum, Accumulator before, std::int64_t i,
                                             std::int64_t j) const {
    Accumulator x = multiply(alpha, sum);
    if (reads_c) x = multiply_add(beta, before, x);
    if (bias_kind != Bias::none) x = add(x, load(bias, bias_kind == Bias::per_row ? i : j));
    return activate(activation, x);
  }
};

/// Of a product as described, which may be the transposed one of what was asked for; stores are element by element.
template <class Accumulator>
[[nodiscard]] Output<Accumulator> output_of(const GemmDescription& d, const GemmArguments& arguments,
                                            bool is_transposed) {
  const bool is_alone = d.bias == Bias::none && d.activation == Activation::none && arguments.beta.is_zero();
  return {.data = arguments.c,
          .layout = d.c,
          .rows = static_cast<int>(d.m),
          .columns = static_cast<int>(d.n),
          .type = d.types.output,
          .store_by = StoreBy::elements,
          .is_aligned = false,
          .alpha = arguments.alpha.as<Accumulator>(),
          .beta = arguments.beta.as<Accumulator>(),
          .reads_c = !arguments.beta.is_zero(),
          .is_plain = is_alone && arguments.alpha.as<Accumulator>() == Accumulator(1),
          .row_scales = d.row_scales ? static_cast<const Accumulator*>(arguments.row_scales) : nullptr,
          .column_scales = d.column_scales ? static_cast<const Accumulator*>(arguments.column_scales) : nullptr,
          .is_transposed = is_transposed,
          .bias_kind = d.bias,
          .activation = d.activation,
          .bias = arguments.bias};
}

/// Where product `batch` of C begins.
template <int bytes, class Accumulator>
[[nodiscard]] __device__ inline std::byte* matrix_of(const Output<Accumulator>& c, std::int64_t batch) {
  return c.layout.pointer_array ? static_cast<std::byte* const*>(c.data)[batch]
                                : static_cast<std::byte*>(c.data) + batch * c.layout.batch_stride * bytes;
}

}  // namespace exactile::cuda::sm90::native
