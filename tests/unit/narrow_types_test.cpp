// SPDX-License-Identifier: Apache-2.0
// Every code of the narrow floating types, and rounding against independent arithmetic.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "exactile/types.hpp"

namespace exactile {
namespace {

/// All codes survive the way to float and back; NaNs stay NaNs.
template <class T, class Bits>
void expect_round_trip() {
  for (std::uint32_t code = 0; code <= std::numeric_limits<Bits>::max(); ++code) {
    T narrow{};
    narrow.bits = static_cast<Bits>(code);
    const float wide = static_cast<float>(narrow);
    const T again(wide);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(again))) << code;
    } else {
      EXPECT_EQ(again.bits, narrow.bits) << code;
    }
  }
}

TEST(NarrowTypes, RoundTrip) {
  expect_round_trip<Float16, std::uint16_t>();
  expect_round_trip<BFloat16, std::uint16_t>();
  expect_round_trip<Float8E4M3, std::uint8_t>();
  expect_round_trip<Float8E5M2, std::uint8_t>();
}

/// The value of a code by the formats' definition, in double.
double by_definition(std::uint32_t code, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const int top = (1 << exponent_bits) - 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (code >> (exponent_bits + mantissa_bits)) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(code >> mantissa_bits) & top;
  const int mantissa = static_cast<int>(code & ((1U << mantissa_bits) - 1));
  if (has_infinity && exponent == top)
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (!has_infinity && exponent == top && mantissa == (1 << mantissa_bits) - 1)
    return std::numeric_limits<double>::quiet_NaN();
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
}

template <class T, class Bits>
void expect_definition(int exponent_bits, int mantissa_bits, bool has_infinity) {
  for (std::uint32_t code = 0; code <= std::numeric_limits<Bits>::max(); ++code) {
    T narrow{};
    narrow.bits = static_cast<Bits>(code);
    const double expected = by_definition(code, exponent_bits, mantissa_bits, has_infinity);
    const double actual = static_cast<double>(static_cast<float>(narrow));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << code;
    } else {
      EXPECT_EQ(actual, expected) << code;
      EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << code;
    }
  }
}

TEST(NarrowTypes, ValuesByDefinition) {
  expect_definition<Float16, std::uint16_t>(5, 10, true);
  expect_definition<BFloat16, std::uint16_t>(8, 7, true);
  expect_definition<Float8E4M3, std::uint8_t>(4, 3, false);
  expect_definition<Float8E5M2, std::uint8_t>(5, 2, true);
}

#if defined(__FLT16_MAX__) && defined(__x86_64__)
TEST(NarrowTypes, Float16RoundsAsTheCompilersDoes) {
  std::mt19937 generator(7);
  for (int t = 0; t < 2000000; ++t) {
    // Any bits first, then numbers near the range, where rounding decides.
    const float value = t % 2 == 0 ? std::bit_cast<float>(static_cast<std::uint32_t>(generator()))
                                   : std::ldexp(static_cast<float>(generator()), -static_cast<int>(generator() % 64));
    if (std::isnan(value)) continue;
    const auto expected = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    ASSERT_EQ(Float16(value).bits, expected) << value;
  }
}
#endif

/// The neighbours of each midpoint between two codes round to the right side, the midpoint itself to the even code.
template <class T>
void expect_ties_to_even(std::uint32_t last_finite_code) {
  for (std::uint32_t code = 0; code < last_finite_code; ++code) {
    T low{};
    T high{};
    low.bits = static_cast<decltype(low.bits)>(code);
    high.bits = static_cast<decltype(high.bits)>(code + 1);
    const double below = static_cast<double>(static_cast<float>(low));
    const double above = static_cast<double>(static_cast<float>(high));
    const float middle = static_cast<float>((below + above) / 2);
    if (static_cast<double>(middle) != (below + above) / 2) continue;  // the midpoint needs more bits than float has
    EXPECT_EQ(T(middle).bits, code % 2 == 0 ? low.bits : high.bits) << code;
    EXPECT_EQ(T(std::nextafter(middle, -1.0F)).bits, low.bits) << code;
    EXPECT_EQ(T(std::nextafter(middle, HUGE_VALF)).bits, high.bits) << code;
    EXPECT_EQ(T(-middle).bits & low.bits, (code % 2 == 0 ? low.bits : high.bits) & low.bits) << code;
  }
}

TEST(NarrowTypes, TiesGoToEven) {
  expect_ties_to_even<Float16>(0x7bff);
  expect_ties_to_even<BFloat16>(0x7f7f);
  expect_ties_to_even<Float8E4M3>(0x7e);
  expect_ties_to_even<Float8E5M2>(0x7b);
}

TEST(NarrowTypes, Overflow) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Float16(65519.0F).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(Float16(-infinity).bits, 0xfc00);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(Float8E5M2(61439.0F).bits, 0x7b);
  EXPECT_EQ(Float8E5M2(61440.0F).bits, 0x7c);
  // E4M3 has no infinity: too large is NaN.
  EXPECT_EQ(Float8E4M3(464.0F).bits, 0x7e);
  EXPECT_TRUE(std::isnan(static_cast<float>(Float8E4M3(465.0F))));
  EXPECT_TRUE(std::isnan(static_cast<float>(Float8E4M3(infinity))));
  EXPECT_TRUE(std::isnan(static_cast<float>(Float8E4M3(-1e9F))));
}

}  // namespace
}  // namespace exactile
