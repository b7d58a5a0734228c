// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element types on the device, and sums of their products: the device's twin of core/arithmetic.hpp.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

#include "exactile/types.hpp"

namespace exactile::cuda {

/// Layout of std::complex<T>, whose operators are no device code.
template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T real;
  T imaginary;
};

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<Complex<T>> = true;

template <class T>
inline constexpr bool is_f8_v = std::is_same_v<T, __nv_fp8_e4m3> || std::is_same_v<T, __nv_fp8_e5m2>;

namespace detail {
template <ElementType>
struct DeviceElement;
// clang-format off
template <> struct DeviceElement<ElementType::f64> { using type = double; };
template <> struct DeviceElement<ElementType::f32> { using type = float; };
template <> struct DeviceElement<ElementType::f16> { using type = __half; };
template <> struct DeviceElement<ElementType::bf16> { using type = __nv_bfloat16; };
template <> struct DeviceElement<ElementType::f8e4m3> { using type = __nv_fp8_e4m3; };
template <> struct DeviceElement<ElementType::f8e5m2> { using type = __nv_fp8_e5m2; };
template <> struct DeviceElement<ElementType::i64> { using type = std::int64_t; };
template <> struct DeviceElement<ElementType::i32> { using type = std::int32_t; };
template <> struct DeviceElement<ElementType::i8> { using type = std::int8_t; };
template <> struct DeviceElement<ElementType::cf64> { using type = Complex<double>; };
template <> struct DeviceElement<ElementType::cf32> { using type = Complex<float>; };
// clang-format on
template <class T>
struct DeviceAccumulator {
  using type = std::conditional_t<sizeof(T) <= 2, std::conditional_t<std::is_integral_v<T>, std::int32_t, float>, T>;
};
}  // namespace detail

/// The device's type for an element type: same size, same bits.
template <ElementType E>
using DeviceElement = typename detail::DeviceElement<E>::type;

/// The type in which products of T are summed, as accumulator_type() says.
template <class T>
using DeviceAccumulator = typename detail::DeviceAccumulator<T>::type;

/// An element as its sum's type; exact.
template <class T>
[[nodiscard]] __device__ inline DeviceAccumulator<T> widen(T x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(x);
  } else {
    return static_cast<DeviceAccumulator<T>>(x);
  }
}

/// A sum as an element of C, rounded to nearest even; i8 products are summed and stored as i32.
template <class Out, class Accumulator>
[[nodiscard]] __device__ inline Out narrow(Accumulator x) {
  if constexpr (std::is_same_v<Out, __half>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<Out, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return static_cast<Out>(x);
  }
}

/// x + y * z. Floating types are contracted; integers wrap modulo 2^w; complex products are the four real ones.
template <class T>
[[nodiscard]] __device__ inline T multiply_add(T y, T z, T x) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(x) + static_cast<U>(y) * static_cast<U>(z));
  } else if constexpr (is_complex_v<T>) {
    return {fma(-y.imaginary, z.imaginary, fma(y.real, z.real, x.real)),
            fma(y.imaginary, z.real, fma(y.real, z.imaginary, x.imaginary))};
  } else {
    return fma(y, z, x);
  }
}

template <class T>
[[nodiscard]] __device__ inline T add(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(x) + static_cast<U>(y));
  } else if constexpr (is_complex_v<T>) {
    return {x.real + y.real, x.imaginary + y.imaginary};
  } else {
    return x + y;
  }
}

template <class T>
[[nodiscard]] __device__ inline T multiply(T y, T z) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(y) * static_cast<U>(z));
  } else if constexpr (is_complex_v<T>) {
    return {fma(-y.imaginary, z.imaginary, y.real * z.real), fma(y.imaginary, z.real, y.real * z.imaginary)};
  } else {
    return y * z;
  }
}

}  // namespace exactile::cuda
