// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exactile/plan.hpp"

namespace exactile::plan {

/// Where an operand's bytes lie relative to its first element: [low, high).
struct Hull {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// `batch_count` is 1 for an operand given by pointers.
[[nodiscard]] Hull hull(const OperandLayout& layout, std::int64_t rows, std::int64_t columns, std::int64_t batch_count,
                        ElementType type);

[[nodiscard]] inline bool disjoint(const void* x, const Hull& x_hull, const void* y, const Hull& y_hull) noexcept {
  const auto* x_bytes = static_cast<const char*>(x);
  const auto* y_bytes = static_cast<const char*>(y);
  return x_bytes + x_hull.high <= y_bytes + y_hull.low || y_bytes + y_hull.high <= x_bytes + x_hull.low;
}

/// Whether two single matrices whose hulls meet may share an element. Blocks of one larger matrix (equal leading
/// dimension, unit stride the same way) are told apart exactly; any other meeting counts as overlap.
[[nodiscard]] bool may_share_element(const void* x, const OperandLayout& x_layout, std::int64_t x_rows,
                                     std::int64_t x_columns, const void* y, const OperandLayout& y_layout,
                                     std::int64_t y_rows, std::int64_t y_columns, std::int64_t element_size);

}  // namespace exactile::plan
