// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elements of any type read as doubles (real and imaginary planes) or as integers modulo 2^64.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "exactile/plan.hpp"

namespace exactile::verification {

/// Calls `f.operator()<T>()` for the C++ type behind `type`.
template <class F>
decltype(auto) with_element(ElementType type, F&& f) {
  switch (type) {
    case ElementType::f64: return f.template operator()<double>();
    case ElementType::f32: return f.template operator()<float>();
    case ElementType::f16: return f.template operator()<Float16>();
    case ElementType::bf16: return f.template operator()<BFloat16>();
    case ElementType::f8e4m3: return f.template operator()<Float8E4M3>();
    case ElementType::f8e5m2: return f.template operator()<Float8E5M2>();
    case ElementType::i64: return f.template operator()<std::int64_t>();
    case ElementType::i32: return f.template operator()<std::int32_t>();
    case ElementType::i8: return f.template operator()<std::int8_t>();
    case ElementType::u8: return f.template operator()<std::uint8_t>();
    case ElementType::i16: return f.template operator()<std::int16_t>();
    case ElementType::cf64: return f.template operator()<std::complex<double>>();
    case ElementType::cf32: break;
  }
  return f.template operator()<std::complex<float>>();
}

/// The address of element (0, 0) of product p.
[[nodiscard]] const void* product_base(const OperandLayout& layout, ElementType type, const void* data, std::int64_t p);

/// Reads `count` floating elements, or their complex conjugates, from base[first + t * stride]; `imaginary` may be null
/// for real types.
void gather(ElementType type, const void* base, std::int64_t first, std::int64_t stride, std::int64_t count,
            double* real, double* imaginary, bool conjugate = false);

/// The same for integer types, extended to 64 bits.
void gather(ElementType type, const void* base, std::int64_t first, std::int64_t stride, std::int64_t count,
            std::uint64_t* values);

/// Rounds to the type and stores at base[index].
void store(ElementType type, void* base, std::int64_t index, double real, double imaginary);
void store(ElementType type, void* base, std::int64_t index, std::uint64_t value);

/// The value rounded to a real floating type.
[[nodiscard]] double round_to(ElementType type, double value);

/// alpha and beta as the accumulator of `input` holds them.
[[nodiscard]] std::complex<double> scalar_as_accumulator(const Scalar& scalar, ElementType input);

[[nodiscard]] double largest_finite(ElementType type);     ///< of a floating type (a complex type's components)
[[nodiscard]] double smallest_positive(ElementType type);  ///< the smallest subnormal number

/// For the narrow floats, whose products tensor cores align by the exponents of the factors as stored: the smallest
/// normal number; a smaller factor costs as much as this one would. So for f32 where it may be rounded. 0 for all other
/// types. See docs/accuracy.md.
[[nodiscard]] double least_weight(ElementType input, Accuracy accuracy);

/// What a factor weighs in the bound: its magnitude, at least `least` unless it is zero.
[[nodiscard]] inline double weight(double factor, double least) {
  const double magnitude = factor < 0 ? -factor : factor;
  return magnitude < least && magnitude > 0 ? least : magnitude;
}

}  // namespace exactile::verification
