// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "exactile/plan.hpp"

namespace exactile::plan {

/// Where an operand's bytes lie relative to its first element: [low, high).
struct Hull {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// The bytes of an operand: `size` of them at first + sum of index * stride over the axes, 0 <= index < extent.
struct Footprint {
  struct Axis {
    std::int64_t extent = 1;
    std::int64_t stride = 0;  ///< in bytes; 0 where there is one index only
  };
  std::array<Axis, 3> axes;  ///< rows, columns, products
  std::int64_t size = 0;
  Hull hull;
};

/// `batch_count` is 1 for an operand given by pointers.
[[nodiscard]] Footprint footprint(const OperandLayout& layout, std::int64_t rows, std::int64_t columns,
                                  std::int64_t batch_count, ElementType type);

[[nodiscard]] inline bool disjoint(const void* x, const Hull& x_hull, const void* y, const Hull& y_hull) noexcept {
  const auto* x_bytes = static_cast<const char*>(x);
  const auto* y_bytes = static_cast<const char*>(y);
  return x_bytes + x_hull.high <= y_bytes + y_hull.low || y_bytes + y_hull.high <= x_bytes + x_hull.low;
}

/// Whether two operands that start at x and y may share a byte. Told apart are operands whose hulls do not meet,
/// operands that repeat with a common period and keep to different parts of it (blocks of one matrix, interleaved
/// batches), and batches whose products can be told apart two by two, up to 4096 pairs; any other meeting counts as
/// sharing.
[[nodiscard]] bool may_share_within_hulls(const void* x, const Footprint& x_print, const void* y,
                                          const Footprint& y_print);
[[nodiscard]] inline bool may_share(const void* x, const Footprint& x_print, const void* y, const Footprint& y_print) {
  return !disjoint(x, x_print.hull, y, y_print.hull) && may_share_within_hulls(x, x_print, y, y_print);
}

}  // namespace exactile::plan
