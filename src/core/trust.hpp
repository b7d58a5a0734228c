// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far the sums of a certified product may be off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "exactile/accuracy.hpp"

namespace exactile::core {

/// By the norms of a row and a column: relative * norms + absolute; 0 where grains say that sums are exact.
struct Trust {
  bool certifies;  ///< else sums are rounded as they are
  double relative;
  double absolute;
  double largest_grain;  ///< of row times column, of exact sums
};

/// For sums of `terms` products in chunks of so many terms, with what is lost extracted or not. docs/accuracy-proofs.md
/// derives these; 2^-20 more covers what is of higher order.
[[nodiscard]] inline Trust trust_of(std::int64_t terms, std::int64_t chunk_terms, bool extracts, Accuracy accuracy) {
  const auto k = static_cast<double>(terms);
  const double chunk = std::min(k, static_cast<double>(chunk_terms));
  const double chunks = std::ceil(k / static_cast<double>(chunk_terms));
  const double extracted = 0x1p-105 * (k + k * (chunk + 1) / 2 + chunk * chunks * (chunks + 1) / 2 + 2);
  const double plain = 0x1p-53 * (chunk + chunks + 2);
  return {.certifies = extracts || accuracy == Accuracy::correctly_rounded,
          .relative = (1 + 0x1p-20) * (extracts ? extracted : plain),
          .absolute = extracts ? (k + 1) * 0x1p-1074 : 0,
          .largest_grain = extracts ? 0x1p104 / std::max(k, 1.0) : 0x1p52};
}

/// The same, not extracted, where norms count each term as often as it is rounded.
[[nodiscard]] inline Trust trust_of_counted(Accuracy accuracy) {
  return {.certifies = accuracy == Accuracy::correctly_rounded,
          .relative = (1 + 0x1p-20) * 0x1p-53,
          .absolute = 0,
          .largest_grain = 0x1p52};
}

}  // namespace exactile::core
