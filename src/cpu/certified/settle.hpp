// SPDX-License-Identifier: Apache-2.0
/// \file
/// One component of an element of C, from sums of products to the rounded number.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/exact_sum.hpp"
#include "exactile/types.hpp"

namespace exactile::cpu {

template <class T>
struct PartOf {
  using type = T;
};
template <class T>
struct PartOf<std::complex<T>> {
  using type = T;
};

/// sum_t factor[t] * sums[column[t]] + sum_t fixed[t][0] * fixed[t][1] + bias: two of each where the product is
/// complex.
struct Form {
  int count = 0;
  double factor[2] = {};
  int column[2] = {};
  int fixed_count = 0;
  double fixed[2][2] = {};
  double bias = 0;

  void add(double f, int sum) {
    factor[count] = f;
    column[count++] = sum;
  }
  void add_fixed(double x, double y) {
    fixed[fixed_count][0] = x;
    fixed[fixed_count++][1] = y;
  }
  [[nodiscard]] bool is_finite() const {
    double all = bias * 0;
    for (int t = 0; t < count; ++t) all += factor[t] * 0;
    for (int t = 0; t < fixed_count; ++t) all += fixed[t][0] * 0 + fixed[t][1] * 0;
    return all == 0;
  }
  /// What does not depend on the sums.
  void add_rest(core::ExactSum& sum) const {
    for (int t = 0; t < fixed_count; ++t) sum.add_product(fixed[t][0], fixed[t][1]);
    sum.add(bias);
  }
  /// The value where a factor or a sum is not finite. What is finite then matters by its sign alone.
  [[nodiscard]] double special(const double (&sums)[2]) const {
    const auto sign = [](double x) { return std::isfinite(x) ? (x == 0 ? 0.0 : std::copysign(1.0, x)) : x; };
    double value = sign(bias);
    for (int t = 0; t < count; ++t) value += sign(factor[t]) * sign(sums[t]);
    for (int t = 0; t < fixed_count; ++t) value += sign(fixed[t][0]) * sign(fixed[t][1]);
    return value;
  }
};

/// A number in two parts, and how far it may be off.
struct Interval {
  double high = 0;
  double low = 0;
  double error = 0;

  void add_product(double x, double y) {
    const double product = x * y;
    add(product);
    low += std::fma(x, y, -product);
  }
  void add(double x) {
    const double sum = high + x;
    const double of_x = sum - high;
    low += (high - (sum - of_x)) + (x - of_x);
    high = sum;
  }
};

/// Bits of the number next to x, up or down, where x is not what it should be and has an even last bit: rounding to
/// odd, after which a second rounding to fewer bits does no harm (S. Boldo and G. Melquiond, 2008).
template <class Float, class Bits>
[[nodiscard]] Float to_odd(Float x, double missing) {
  const auto bits = std::bit_cast<Bits>(x);
  if (missing == 0 || (bits & 1) != 0) return x;
  return std::bit_cast<Float>((missing > 0) == !std::signbit(x) ? bits + 1 : bits - 1);
}

/// high + low rounded once to Out, as a double.
template <class Out>
[[nodiscard]] double rounded_sum(double high, double low) {
  const double sum = high + low;
  if constexpr (std::is_same_v<Out, double>) return sum;
  const double of_low = sum - high;
  const double missing = (high - (sum - of_low)) + (low - of_low);
  const double odd = to_odd<double, std::uint64_t>(sum, missing);
  const auto nearest = static_cast<float>(odd);
  if constexpr (std::is_same_v<Out, float>) return static_cast<double>(nearest);
  if (!std::isfinite(odd)) return odd;
  const double lacks = std::isinf(nearest) ? -nearest : odd - static_cast<double>(nearest);
  return static_cast<double>(static_cast<float>(Out(to_odd<float, std::uint32_t>(nearest, lacks))));
}

template <class T>
[[nodiscard]] double as_double(T x) {
  if constexpr (sizeof(T) < 4)
    return static_cast<double>(static_cast<float>(x));
  else
    return static_cast<double>(x);
}

/// An exact number of Out's as an element. There is one NaN.
template <class Out>
[[nodiscard]] Out as_element(double x) {
  if (std::isnan(x)) x = std::numeric_limits<double>::quiet_NaN();
  if constexpr (sizeof(Out) == 8)
    return x;
  else
    return Out(static_cast<float>(x));
}

}  // namespace exactile::cpu
