// SPDX-License-Identifier: Apache-2.0
/// \file
/// What becomes of a finished sum: C <- activation(alpha * sum + beta * C + bias), one element at a time.
#pragma once

#include "cuda/tile/types.cuh"
#include "exactile/plan.hpp"

namespace exactile::cuda {

/// activation(x)
template <class Sum>
[[nodiscard]] __device__ inline Sum activate(Activation activation, Sum x) {
  if constexpr (!is_complex_v<Sum>) {
    if (activation == Activation::relu) return x < Sum(0) ? Sum(0) : x;
    if constexpr (std::is_floating_point_v<Sum>)
      if (activation == Activation::gelu) return x * (Sum(0.5) * erfc(-x * Sum(0.70710678118654752440)));
  }
  return x;
}

/// alpha or beta times x. A real factor multiplies both parts of a complex number and nothing else: an Inf must not
/// meet the factor's zero imaginary part.
template <class Sum>
[[nodiscard]] __device__ inline Sum scaled(Sum factor, Sum x) {
  if constexpr (is_complex_v<Sum>)
    if (factor.imaginary == 0) return {factor.real * x.real, factor.real * x.imaginary};
  return multiply(factor, x);
}

/// z + scaled(factor, x)
template <class Sum>
[[nodiscard]] __device__ inline Sum add_scaled(Sum factor, Sum x, Sum z) {
  if constexpr (is_complex_v<Sum>)
    if (factor.imaginary == 0) return {fma(factor.real, x.real, z.real), fma(factor.real, x.imaginary, z.imaginary)};
  return multiply_add(factor, x, z);
}

/// Passed to kernels by value. In is the element type of A and B, Out that of C.
template <class In, class Out>
struct Epilogue {
  using Sum = DeviceSum<In>;

  Sum alpha;
  Sum beta;
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
  __device__ void store(Out* place, Sum sum, std::int64_t i, std::int64_t j) const {
    *place = is_plain ? narrow<Out>(sum) : narrow<Out>(value(sum, reads_c ? load_c(place) : Sum{}, i, j));
  }

  /// activation(alpha * sum + beta * before + bias), not yet rounded to Out. `before` is not looked at when beta is 0.
  [[nodiscard]] __device__ Sum value(Sum sum, Sum before, std::int64_t i, std::int64_t j) const {
    Sum x = scaled(alpha, sum);
    if (reads_c) x = add_scaled(beta, before, x);
    return finish(x, i, j);
  }

  /// Whether finish() changes nothing.
  [[nodiscard]] __device__ bool ends_with_sum() const {
    return bias_kind == Bias::none && activation == Activation::none;
  }

  /// activation(x + bias)
  [[nodiscard]] __device__ Sum finish(Sum x, std::int64_t i, std::int64_t j) const {
    if (bias_kind != Bias::none) x = add(x, load_c(bias + (bias_kind == Bias::per_row ? i : j)));
    return activate(x);
  }

  /// The last step of value(), for kernels that take it apart.
  [[nodiscard]] __device__ Sum activate(Sum x) const { return cuda::activate(activation, x); }

  /// An element of C or of the bias as a sum.
  [[nodiscard]] __device__ static Sum load_c(const Out* place) {
    if constexpr (std::is_same_v<Out, Sum>) {
      return *place;
    } else {
      return static_cast<Sum>(widen(*place));
    }
  }

 private:
  [[nodiscard]] static Sum scalar(const Scalar& s) {
    if constexpr (is_complex_v<Sum>) {
      const auto z = s.as<std::complex<decltype(Sum::real)>>();
      return {z.real(), z.imag()};
    } else {
      return s.as<Sum>();
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
