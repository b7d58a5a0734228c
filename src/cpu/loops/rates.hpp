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

/// A thread is worth waking for about 2^22 terms (tens of microseconds).
[[nodiscard]] inline int useful_threads(double terms, std::int64_t parts, int most) {
  const auto limit = static_cast<double>(std::min<std::int64_t>(parts, most));
  return static_cast<int>(std::max(1.0, std::min(terms / 0x1p22, limit)));
}

}  // namespace exactile::cpu
