// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element types: their names, their storage, and which pairs of types a product may have.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace exactile {

enum class ElementType : std::uint8_t { f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i8, cf64, cf32, u8, i16 };

namespace detail {

/// Rounds a float to a binary format of ExponentBits and MantissaBits, ties to even, subnormals kept. `max_code` is the
/// largest finite code; what rounds above it becomes `overflow_code`. Works on the bits alone, so it does not depend on
/// the floating-point environment.
template <int ExponentBits, int MantissaBits, std::uint32_t MaxCode, std::uint32_t OverflowCode, std::uint32_t NanCode>
[[nodiscard]] constexpr std::uint32_t narrow(float value) noexcept {
  constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) << (ExponentBits + MantissaBits);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return sign | NanCode;
  if (magnitude == 0x7f800000U) return sign | OverflowCode;
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const bool float_is_normal = magnitude >= 0x00800000U;
  const std::uint32_t significand = float_is_normal ? ((magnitude & 0x7fffffU) | 0x800000U) : magnitude;
  // The number of low bits of the 24-bit significand that do not fit, more of them below the normal range.
  const int lowest_normal = 1 - bias;
  const int effective = float_is_normal ? exponent : -126;
  const int below = effective < lowest_normal ? lowest_normal - effective : 0;
  const int shift = 23 - MantissaBits + below;
  if (shift > 25) return sign;
  std::uint32_t kept = significand >> shift;
  const std::uint32_t rest = significand & ((1U << shift) - 1);
  const std::uint32_t half = shift > 0 ? 1U << (shift - 1) : 0;
  if (shift > 0 && (rest > half || (rest == half && (kept & 1U)))) ++kept;
  // A carry out of the mantissa raises the exponent by itself because the two fields are neighbours.
  const std::uint32_t code =
      below > 0 ? kept : (static_cast<std::uint32_t>(effective + bias) << MantissaBits) + (kept - (1U << MantissaBits));
  return sign | (code > MaxCode ? OverflowCode : code);
}

/// The exact float of a code in such a format. `has_infinity` says whether the top exponent means Inf and NaN (IEEE) or
/// only its all-ones code means NaN (OCP E4M3).
template <int ExponentBits, int MantissaBits, bool HasInfinity>
[[nodiscard]] constexpr float widen(std::uint32_t code) noexcept {
  constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  constexpr std::uint32_t top = (1U << ExponentBits) - 1;
  constexpr std::uint32_t mantissa_mask = (1U << MantissaBits) - 1;
  const std::uint32_t sign = (code >> (ExponentBits + MantissaBits)) << 31;
  const std::uint32_t exponent = (code >> MantissaBits) & top;
  const std::uint32_t mantissa = code & mantissa_mask;
  if (HasInfinity ? exponent == top : (exponent == top && mantissa == mantissa_mask))
    return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << (23 - MantissaBits)));
  if (exponent == 0) {
    // A subnormal is mantissa * 2^(1 - bias - MantissaBits); every such number of these formats is exact in float.
    if (mantissa == 0) return std::bit_cast<float>(sign);
    if constexpr (ExponentBits == 8) return std::bit_cast<float>(sign | (mantissa << (23 - MantissaBits)));
    const float scale = std::bit_cast<float>(static_cast<std::uint32_t>(127 + 1 - bias - MantissaBits) << 23);
    const float absolute = static_cast<float>(mantissa) * scale;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(absolute));
  }
  return std::bit_cast<float>(sign | ((exponent + 127 - bias) << 23) | (mantissa << (23 - MantissaBits)));
}

}  // namespace detail

/// The narrow floating types are storage: they convert from float (rounded to nearest, ties to even) and to float
/// (exactly); arithmetic happens in float.

/// IEEE 754 binary16.
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit constexpr Float16(float value) noexcept
      : bits(static_cast<std::uint16_t>(detail::narrow<5, 10, 0x7bff, 0x7c00, 0x7e00>(value))) {}
  explicit constexpr operator float() const noexcept { return detail::widen<5, 10, true>(bits); }
};

/// bfloat16: the upper half of a float.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit constexpr BFloat16(float value) noexcept
      : bits(static_cast<std::uint16_t>(detail::narrow<8, 7, 0x7f7f, 0x7f80, 0x7fc0>(value))) {}
  explicit constexpr operator float() const noexcept { return detail::widen<8, 7, true>(bits); }
};

/// OCP 8-bit E4M3: no infinities, largest number 448; what is larger becomes NaN.
struct Float8E4M3 {
  std::uint8_t bits = 0;
  Float8E4M3() = default;
  explicit constexpr Float8E4M3(float value) noexcept
      : bits(static_cast<std::uint8_t>(detail::narrow<4, 3, 0x7e, 0x7f, 0x7f>(value))) {}
  explicit constexpr operator float() const noexcept { return detail::widen<4, 3, false>(bits); }
};

/// OCP 8-bit E5M2: as binary16 with two mantissa bits; largest number 57344.
struct Float8E5M2 {
  std::uint8_t bits = 0;
  Float8E5M2() = default;
  explicit constexpr Float8E5M2(float value) noexcept
      : bits(static_cast<std::uint8_t>(detail::narrow<5, 2, 0x7b, 0x7c, 0x7e>(value))) {}
  explicit constexpr operator float() const noexcept { return detail::widen<5, 2, true>(bits); }
};

/// The types of a product: A has `input`, C has `output`, and B has `input_b`, A's type unless something else is said.
struct GemmTypes {
  ElementType input = ElementType::f32;
  ElementType output = ElementType::f32;
  ElementType input_b = input;
  friend bool operator==(const GemmTypes&, const GemmTypes&) = default;
};

/// All that the library multiplies: f64, f32, f16, f16->f32, bf16, bf16->f32, f8e4m3->f32, f8e4m3->bf16, f8e5m2->f32,
/// f8e5m2->bf16, i64, i32, i8->i32, cf64, cf32; and on the processor alone u8->i32, u8xi8->i32 (A without a sign, B
/// with one), i8xu8->i32, i16->i32, i32->i64.
[[nodiscard]] std::span<const GemmTypes> all_gemm_types() noexcept;

/// "f32", "i8->i32" where the two differ, "u8xi8->i32" where B has another type than A.
[[nodiscard]] std::string to_string(GemmTypes types);
[[nodiscard]] std::string_view to_string(ElementType type) noexcept;
/// Reads what to_string() writes. Inputs that have no product of their own type go alone to the type that sums: "i8" is
/// i8->i32, "u8xi8" is u8xi8->i32, "f8e4m3" is f8e4m3->f32.
[[nodiscard]] std::optional<GemmTypes> parse_gemm_types(std::string_view name) noexcept;

/// The type in which products of `input` are summed: f32 for the narrow floats, i32 for integers of 8 and 16 bits, else
/// `input` itself. Of i32 it is the type of C: i32 or i64.
[[nodiscard]] ElementType accumulator_type(ElementType input) noexcept;
[[nodiscard]] ElementType accumulator_type(GemmTypes types) noexcept;
[[nodiscard]] std::int64_t size_in_bytes(ElementType type) noexcept;
[[nodiscard]] bool is_floating(ElementType type) noexcept;  ///< real or complex, of any width
[[nodiscard]] bool is_complex(ElementType type) noexcept;
/// u = 2^-p for a format of p significant bits (f32: 2^-24); 0 for the integers, which are exact.
[[nodiscard]] double unit_roundoff(ElementType type) noexcept;
/// Real operations of an m x n x k product: 2mnk, and 8mnk for complex types.
[[nodiscard]] double operation_count(GemmTypes types, std::int64_t m, std::int64_t n, std::int64_t k) noexcept;

namespace detail {
template <class T>
struct ElementTypeOf;
// clang-format off
template <> struct ElementTypeOf<double> : std::integral_constant<ElementType, ElementType::f64> {};
template <> struct ElementTypeOf<float> : std::integral_constant<ElementType, ElementType::f32> {};
template <> struct ElementTypeOf<Float16> : std::integral_constant<ElementType, ElementType::f16> {};
template <> struct ElementTypeOf<BFloat16> : std::integral_constant<ElementType, ElementType::bf16> {};
template <> struct ElementTypeOf<Float8E4M3> : std::integral_constant<ElementType, ElementType::f8e4m3> {};
template <> struct ElementTypeOf<Float8E5M2> : std::integral_constant<ElementType, ElementType::f8e5m2> {};
template <> struct ElementTypeOf<int> : std::integral_constant<ElementType, ElementType::i32> {};
template <> struct ElementTypeOf<long long> : std::integral_constant<ElementType, ElementType::i64> {};
template <> struct ElementTypeOf<long>
    : std::conditional_t<sizeof(long) == 4, ElementTypeOf<int>, ElementTypeOf<long long>> {};
template <> struct ElementTypeOf<short> : std::integral_constant<ElementType, ElementType::i16> {};
template <> struct ElementTypeOf<signed char> : std::integral_constant<ElementType, ElementType::i8> {};
template <> struct ElementTypeOf<unsigned char> : std::integral_constant<ElementType, ElementType::u8> {};
template <> struct ElementTypeOf<std::complex<double>> : std::integral_constant<ElementType, ElementType::cf64> {};
template <> struct ElementTypeOf<std::complex<float>> : std::integral_constant<ElementType, ElementType::cf32> {};
// The compiler's own 16-bit floats, where it has them; std::float16_t and std::bfloat16_t are these.
#if defined(__FLT16_MANT_DIG__) && (defined(__x86_64__) || defined(__clang__) || __GNUC__ >= 13)
template <> struct ElementTypeOf<_Float16> : std::integral_constant<ElementType, ElementType::f16> {};
#endif
#ifdef __BFLT16_MANT_DIG__
template <> struct ElementTypeOf<__bf16> : std::integral_constant<ElementType, ElementType::bf16> {};
#endif
// clang-format on

template <class T>
[[nodiscard]] constexpr bool is_narrow_float() {
  if constexpr (requires { ElementTypeOf<T>::value; }) {
    constexpr ElementType type = ElementTypeOf<T>::value;
    return type == ElementType::f16 || type == ElementType::bf16 || type == ElementType::f8e4m3 ||
           type == ElementType::f8e5m2;
  }
  return false;
}

template <class T, class Out>
struct AccumulatorOf : std::conditional<is_narrow_float<T>(), float, T> {};
template <class T, class Out>
  requires(std::is_integral_v<T> && sizeof(T) < 4)
struct AccumulatorOf<T, Out> : std::type_identity<std::int32_t> {};
template <class T, class Out>
  requires(std::is_integral_v<T>&& std::is_integral_v<Out> && sizeof(T) == 4 && sizeof(Out) == 8)
struct AccumulatorOf<T, Out> : std::type_identity<Out> {};
}  // namespace detail

/// Whether the library multiplies matrices of T.
template <class T>
concept is_element_type = requires {
  detail::ElementTypeOf<std::remove_const_t<T>>::value;
};

template <class T>
inline constexpr ElementType element_type_v = detail::ElementTypeOf<std::remove_const_t<T>>::value;

/// The type that sums products of T which become a C of type Out, and the type of alpha and beta.
template <class T, class Out = T>
using Accumulator = typename detail::AccumulatorOf<std::remove_const_t<T>, std::remove_const_t<Out>>::type;

}  // namespace exactile
