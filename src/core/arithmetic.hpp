// SPDX-License-Identifier: Apache-2.0
/// \file Sums and products of one element, the same in the reference loop and in every portable kernel.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

#include "exactile/epilogue.hpp"
#include "exactile/types.hpp"

namespace exactile::core {

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<std::complex<T>> = true;

/// x + y * z. Integers wrap modulo 2^w: unsigned arithmetic, because signed overflow is undefined. Complex products are
/// the four real products of the definition, without the recovery of infinities that operator* does.
template <class T>
[[nodiscard]] constexpr T multiply_add(T y, T z, T x) noexcept {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(x) + static_cast<U>(y) * static_cast<U>(z));
  } else if constexpr (is_complex_v<T>) {
    return T(x.real() + y.real() * z.real() - y.imag() * z.imag(),
             x.imag() + y.real() * z.imag() + y.imag() * z.real());
  } else {
    return x + y * z;
  }
}

template <class T>
[[nodiscard]] constexpr T multiply(T y, T z) noexcept {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(y) * static_cast<U>(z));
  } else if constexpr (is_complex_v<T>) {
    return T(y.real() * z.real() - y.imag() * z.imag(), y.real() * z.imag() + y.imag() * z.real());
  } else {
    return y * z;
  }
}

/// alpha or beta times z. A real factor multiplies both parts of a complex number and nothing else: through the four
/// products of the definition an Inf would meet the factor's zero imaginary part and leave NaN.
template <class T>
[[nodiscard]] constexpr T scaled(T factor, T z) noexcept {
  if constexpr (is_complex_v<T>)
    if (factor.imag() == 0) return T(factor.real() * z.real(), factor.real() * z.imag());
  return multiply(factor, z);
}

/// x + scaled(factor, z)
template <class T>
[[nodiscard]] constexpr T add_scaled(T factor, T z, T x) noexcept {
  if constexpr (is_complex_v<T>)
    if (factor.imag() == 0) return T(x.real() + factor.real() * z.real(), x.imag() + factor.real() * z.imag());
  return multiply_add(factor, z, x);
}

template <class T>
[[nodiscard]] constexpr T add(T x, T y) noexcept {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(x) + static_cast<U>(y));
  } else {
    return x + y;
  }
}

/// The complex conjugate where it is wanted; real numbers and integers are their own.
template <class T>
[[nodiscard]] constexpr T conjugate_if(bool wanted, T x) noexcept {
  if constexpr (is_complex_v<T>)
    return wanted ? T(x.real(), -x.imag()) : x;
  else
    return x;
}

/// activation(x); the descriptions that reach here were checked, so complex types have none and integers no gelu.
template <class T>
[[nodiscard]] T activate(Activation activation, T x) noexcept {
  if constexpr (!is_complex_v<T>) {
    if (activation == Activation::relu) return x < T(0) ? T(0) : x;
    if constexpr (std::is_floating_point_v<T>)
      if (activation == Activation::gelu) return x * (T(0.5) * std::erfc(-x * T(0.70710678118654752440)));
  }
  return x;
}

}  // namespace exactile::core
