// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/certified/kernels.hpp"
#include "exactile/accuracy.hpp"

namespace exactile::cpu {

/// How far sums may be off, by their norms; see Doubt.
struct Trust {
  bool certifies;  ///< else sums are rounded as they are
  double relative;
  double absolute;
  double largest_grain;
};

/// docs/accuracy-proofs.md derives these; 2^-20 more covers what is of higher order.
[[nodiscard]] inline Trust trust_of(std::int64_t terms, bool extracts, Accuracy accuracy) {
  const auto k = static_cast<double>(terms);
  const double chunk = std::min(k, static_cast<double>(certified_chunk));
  const double chunks = std::ceil(k / static_cast<double>(certified_chunk));
  const double extracted = 0x1p-105 * (k + k * (chunk + 1) / 2 + chunk * chunks * (chunks + 1) / 2 + 2);
  const double plain = 0x1p-53 * (chunk + chunks + 2);
  return {.certifies = extracts || accuracy == Accuracy::correctly_rounded,
          .relative = (1 + 0x1p-20) * (extracts ? extracted : plain),
          .absolute = extracts ? (k + 1) * 0x1p-1074 : 0,
          .largest_grain = extracts ? 0x1p104 / std::max(k, 1.0) : 0x1p52};
}

}  // namespace exactile::cpu
