// SPDX-License-Identifier: Apache-2.0
/// \file Sizes of products that a cost model is measured on.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace exactile::tuning {

/// Log-uniform from least to most; of 100 sizes 45 are multiples of 64 and 30 of 8, as far as they are so large.
[[nodiscard]] inline std::int64_t draw_size(std::mt19937_64& dice, double least, double most) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto drawn = static_cast<std::int64_t>(std::llround(least * std::pow(most / least, uniform(dice))));
  const double grid = uniform(dice);
  const std::int64_t step = grid < 0.45 ? 64 : grid < 0.75 ? 8 : 1;
  return drawn < step ? drawn : (drawn + step / 2) / step * step;
}

}  // namespace exactile::tuning
