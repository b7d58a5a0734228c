// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums of floating-point numbers and of their products without any rounding.
#pragma once

#include <array>
#include <cstdint>

#include "exactile/types.hpp"

namespace exactile::core {

/// The numbers that a floating type has: p significant bits, and the exponent of its smallest positive number.
struct Format {
  int precision;
  int lowest_exponent;
};
[[nodiscard]] Format format_of(ElementType type) noexcept;

/// A fixed-point number wide enough for every product of three numbers of f64, and for 2^29 of them: digits of 32 bits
/// in 64, so that carries wait (R. Neal, Fast exact summation using small and large superaccumulators, 2015). What is
/// added must be finite.
class ExactSum {
  __extension__ using Wide = unsigned __int128;

 public:
  void add(double x) noexcept;
  void add_product(double x, double y) noexcept;
  /// factor * sum, without a rounding; the factor has at most 53 significant bits, `sum` none below 2^-2148.
  void add_scaled(double factor, ExactSum sum) noexcept;
  [[nodiscard]] int sign() const noexcept;  ///< -1, 0 or 1
  /// The sum, rounded once to nearest, ties to even. Infinite only beyond f64's range; 0 of an exact zero is positive,
  /// that of an underflow has the sum's sign.
  [[nodiscard]] double rounded(Format format) const noexcept;

 private:
  static constexpr int lowest_bit = -3328;  ///< weight of the first digit; a multiple of 32 below 3 * -1074
  static constexpr int digits = 208;        ///< up to 2^3328: 3 * 1024, and room for sums

  void add(Wide magnitude, int exponent, bool negative) noexcept;
  /// Digits of 32 bits each; whether the sum was negative, and has been turned into its magnitude.
  bool settle() noexcept;

  std::array<std::int64_t, digits> digits_{};
  int low_ = digits;  ///< digits touched: [low_, high_)
  int high_ = 0;
};

}  // namespace exactile::core
