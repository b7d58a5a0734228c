// SPDX-License-Identifier: Apache-2.0
/// \file
/// What becomes of a finished sum: C <- activation(alpha * sum + beta * C + bias), one element at a time.
#pragma once

#include "cuda/tile/types.cuh"
#include "exactile/plan.hpp"

namespace exactile::cuda {

/// activation(x)
template <class Accumulator>
[[nodiscard]] __device__ inline Accumulator activate(Activation activation, Accumulator x) {
  if constexpr (!is_complex_v<Accumulator>) {
    if (activation == Activation::relu) return x < Accumulator(0) ? Accumulator(0) : x;
    if constexpr (std::is_floating_point_v<Accumulator>)
      if (activation == Activation::gelu)
        return x * (Accumulator(0.5) * erfc(-x * Accumulator(0.70710678118654752440)));
  }
  return x;
}

/// alpha or beta times x. A real factor multiplies both parts of a complex number and nothing else: an Inf must not
/// meet the factor's zero imaginary part.
template <class Accumulator>
[[nodiscard]] __device__ inline Accumulator scaled(Accumulator factor, Accumulator x) {
  if constexpr (is_complex_v<Accumulator>)
    if (factor.imaginary == 0) return {factor.real * x.real, factor.real * x.imaginary};
  return multiply(factor, x);
}

/// z + scaled(factor, x)
template <class Accumulator>
[[nodiscard]] __device__ inline Accumulator add_scaled(Accumulator factor, Accumulator x, Accumulator z) {
  if constexpr (is_complex_v<Accumulator>)
    if (factor.imaginary == 0) return {fma(factor.real, x.real, z.real), fma(factor.real, x.imaginary, z.imaginary)};
  return multiply_add(factor, x, z);
}

/// Passed to kernels by value. In is the element type of A and B, Out that of C.
template <class In, class Out>
struct Epilogue {
  using Accumulator = DeviceAccumulator<In>;

  Accumulator alpha;
  Accumulator beta;
  bool reads_c;   ///< beta != 0
  bool is_plain;  ///< alpha = 1, beta = 0, no bias, no activation: the sum is the result
  Bias bias_kind;
  Activation activation;
  const Out* bias;

  Epilogue(const GemmDescription& description, const GemmArguments& arguments)
      : alpha(scalar(arguments.alpha)),
        beta(scalar(arguments.beta)),
        reads_c(!arguments.beta.is_zero()),
        is_plain(arguments.alpha.is_real() && arguments.alpha.template as<double>() == 1 && !reads_c &&
                 description.bias == Bias::none && description.activation == Activation::none),
        bias_kind(description.bias),
        activation(description.activation),
        bias(static_cast<const Out*>(arguments.bias)) {}

  /// Stores the element of row i and column j whose place in C is `place`.
  __device__ void store(Out* place, Accumulator sum, std::int64_t i, std::int64_t j) const {
    *place = is_plain ? narrow<Out>(sum) : narrow<Out>(value(sum, reads_c ? load_c(place) : Accumulator{}, i, j));
  }

  /// activation(alpha * sum + beta * before + bias), not yet rounded to Out. `before` is not looked at when beta is 0.
  [[nodiscard]] __device__ Accumulator value(Accumulator sum, Accumulator before, std::int64_t i,
                                             std::int64_t j) const {
    Accumulator x = scaled(alpha, sum);
    if (reads_c) x = add_scaled(beta, before, x);
    return finish(x, i, j);
  }

  /// Whether finish() changes nothing.
  [[nodiscard]] __device__ bool ends_with_sum() const {
    return bias_kind == Bias::none && activation == Activation::none;
  }

  /// activation(x + bias)
  [[nodiscard]] __device__ Accumulator finish(Accumulator x, std::int64_t i, std::int64_t j) const {
    if (bias_kind != Bias::none) x = add(x, load_c(bias + (bias_kind == Bias::per_row ? i : j)));
    return activate(x);
  }

  /// The last step of value(), for kernels that take it apart.
  [[nodiscard]] __device__ Accumulator activate(Accumulator x) const { return cuda::activate(activation, x); }

  /// An element of C or of the bias as a sum.
  [[nodiscard]] __device__ static Accumulator load_c(const Out* place) {
    if constexpr (std::is_same_v<Out, Accumulator>) {
      return *place;
    } else {
      return static_cast<Accumulator>(widen(*place));
    }
  }

 private:
  [[nodiscard]] static Accumulator scalar(const Scalar& s) {
    if constexpr (is_complex_v<Accumulator>) {
      const auto z = s.as<std::complex<decltype(Accumulator::real)>>();
      return {z.real(), z.imag()};
    } else {
      return s.as<Accumulator>();
    }
  }
};

/// Where product `index` of an operand begins: the device's twin of reference::product_base().
template <class T>
[[nodiscard]] __device__ inline T* product_base(T* data, const OperandLayout& layout, std::int64_t index) {
  if (layout.pointer_array) return reinterpret_cast<T* const*>(const_cast<std::remove_const_t<T>*>(data))[index];
  return data + index * layout.batch_stride;
}

}  // namespace exactile::cuda
