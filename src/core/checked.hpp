// SPDX-License-Identifier: Apache-2.0
/// \file Arithmetic on sizes that says when 64 bits are not enough.
#pragma once

#include <cstdint>
#include <optional>

namespace exactile::core {

[[nodiscard]] inline std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

[[nodiscard]] inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// For a >= 0 and b > 0.
[[nodiscard]] constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) noexcept {
  return a / b + (a % b != 0 ? 1 : 0);
}
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) noexcept { return ceil_divide(a, b) * b; }

}  // namespace exactile::core
