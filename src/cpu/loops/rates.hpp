// SPDX-License-Identifier: Apache-2.0
/// \file How many threads a product is worth.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"

namespace exactile::cpu {

/// How much longer a team takes than its share of so many equal parts: some have one more than others.
[[nodiscard]] inline double unevenness(std::int64_t parts, int threads) {
  return static_cast<double>(core::round_up(parts, std::int64_t{threads})) / static_cast<double>(parts);
}

/// A team is worth waking for about 2^17 cycles (tens of microseconds), since that alone takes some; one more thread
/// for 2^15, since threads wake each other.
[[nodiscard]] inline int useful_threads(double cycles, std::int64_t parts, int most) {
  if (cycles <= 0x1p17) return 1;
  const auto limit = static_cast<double>(std::min<std::int64_t>(parts, most));
  return static_cast<int>(std::max(1.0, std::min(cycles / 0x1p15, limit)));
}

/// Of products that are bound by memory, not arithmetic: so many terms pass a core in a cycle.
inline constexpr double terms_of_memory = 4;

}  // namespace exactile::cpu
