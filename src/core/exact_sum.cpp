// SPDX-License-Identifier: Apache-2.0
#include "core/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace exactile::core {
namespace {

struct Parts {
  std::uint64_t significand;
  int exponent;  ///< of the significand's last bit
  bool negative;
};

Parts parts_of(double x) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  return {field == 0 ? fraction : fraction | std::uint64_t{1} << 52, std::max(field, 1) - 1075, (bits >> 63) != 0};
}

}  // namespace

Format format_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::f16: return {11, -24};
    case ElementType::bf16: return {8, -133};
    case ElementType::f32:
    case ElementType::cf32: return {24, -149};
    default: return {53, -1074};
  }
}

void ExactSum::add(Wide magnitude, int exponent, bool negative) noexcept {
  const int position = exponent - lowest_bit;
  const int shift = position & 31;
  int digit = position >> 5;
  low_ = std::min(low_, digit);
  // 32 bits at a time, the first of them shifted.
  for (Wide rest = magnitude, at_once = 32 - static_cast<unsigned>(shift); rest != 0; ++digit) {
    const auto bits = static_cast<unsigned>(at_once);
    const auto low = static_cast<std::int64_t>(static_cast<std::uint64_t>(rest) & ((std::uint64_t{1} << bits) - 1));
    const std::int64_t value = low << (32 - bits);
    digits_[static_cast<std::size_t>(digit)] += negative ? -value : value;
    rest >>= bits;
    at_once = 32;
  }
  high_ = std::max(high_, digit);
}

void ExactSum::add(double x) noexcept {
  const Parts p = parts_of(x);
  add(p.significand, p.exponent, p.negative);
}

void ExactSum::add_product(double x, double y) noexcept {
  const Parts p = parts_of(x);
  const Parts q = parts_of(y);
  add(static_cast<Wide>(p.significand) * q.significand, p.exponent + q.exponent, p.negative != q.negative);
}

bool ExactSum::settle() noexcept {
  if (low_ >= high_) return false;
  high_ = std::min(high_ + 1, digits);  // takes the last carry, but for the sign
  const auto carry_all = [&] {
    std::int64_t carry = 0;
    for (int d = low_; d < high_; ++d) {
      std::int64_t& digit = digits_[static_cast<std::size_t>(d)];
      carry += digit;
      digit = carry & 0xffffffff;
      carry >>= 32;
    }
    return carry < 0;
  };
  if (!carry_all()) return false;
  for (int d = low_; d < high_; ++d) digits_[static_cast<std::size_t>(d)] *= -1;
  carry_all();  // the carry is that of 2^(32 digits), of which the first pass kept the complement
  return true;
}

void ExactSum::add_scaled(double factor, ExactSum sum) noexcept {
  const bool negative = sum.settle();
  const Parts p = parts_of(factor);
  for (int d = sum.low_; d < sum.high_; ++d)
    add(static_cast<Wide>(p.significand) * static_cast<std::uint64_t>(sum.digits_[static_cast<std::size_t>(d)]),
        p.exponent + 32 * d + lowest_bit, p.negative != negative);
}

int ExactSum::sign() const noexcept {
  ExactSum sum = *this;
  const bool negative = sum.settle();
  for (int d = sum.low_; d < sum.high_; ++d)
    if (sum.digits_[static_cast<std::size_t>(d)] != 0) return negative ? -1 : 1;
  return 0;
}

double ExactSum::rounded(Format format) const noexcept {
  ExactSum sum = *this;
  const bool negative = sum.settle();
  int top = sum.high_ - 1;
  const auto digit = [&](int d) {
    return d < 0 || d >= digits ? std::uint64_t{0}
                                : static_cast<std::uint64_t>(sum.digits_[static_cast<std::size_t>(d)]);
  };
  while (top >= sum.low_ && digit(top) == 0) --top;
  if (top < sum.low_) return 0;
  const int first_bit = 32 * top + lowest_bit + static_cast<int>(std::bit_width(digit(top))) - 1;
  const int last_bit = std::max(first_bit - format.precision + 1, format.lowest_exponent);
  // Three digits hold the significand, its last bit and the one behind that; the rest is only asked whether it is zero.
  const int guard_position = last_bit - 1 - lowest_bit;
  const int guard_digit = guard_position >> 5;
  const int guard_shift = guard_position & 31;
  Wide window = 0;
  for (int d = guard_digit + 3; d >= guard_digit; --d) window = window << 32 | digit(d);
  auto significand = static_cast<std::uint64_t>(window >> guard_shift >> 1);
  const bool half = (window >> guard_shift & 1) != 0;
  bool beyond = (window & ((Wide{1} << guard_shift) - 1)) != 0;
  for (int d = sum.low_; d < guard_digit && !beyond; ++d) beyond = digit(d) != 0;
  if (half && (beyond || (significand & 1) != 0)) ++significand;
  const double magnitude = std::ldexp(static_cast<double>(significand), last_bit);
  return negative ? -magnitude : magnitude;
}

}  // namespace exactile::core
