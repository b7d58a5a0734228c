// SPDX-License-Identifier: Apache-2.0
/// \file
/// Division by a number that is known before a kernel is launched, in three instructions where one by a number from
/// memory takes forty (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994).
#pragma once

#include <bit>
#include <cstdint>

namespace exactile::cuda {

/// Divides what is at least 0 by 1 to 2^31 - 1.
class Divisor {
 public:
  Divisor() = default;
  constexpr explicit Divisor(int divisor)
      : shift_(static_cast<int>(std::bit_width(static_cast<std::uint32_t>(divisor) - 1))),
        // Rounded up by less than 1, it makes a quotient of 31 bits too large by less than 1 / divisor.
        factor_(
            static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + shift_)) + static_cast<std::uint64_t>(divisor) - 1) /
                                       static_cast<std::uint64_t>(divisor))) {}

  [[nodiscard]] constexpr int quotient(int x) const {
    const std::uint64_t product = std::uint64_t{2 * static_cast<std::uint32_t>(x)} * factor_;
    return static_cast<int>(static_cast<std::uint32_t>(product >> 32) >> shift_);
  }

 private:
  int shift_ = 0;
  std::uint32_t factor_ = 0;
};

}  // namespace exactile::cuda
