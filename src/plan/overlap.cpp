// SPDX-License-Identifier: Apache-2.0
#include "plan/overlap.hpp"

#include <numeric>
#include <utility>

namespace exactile::plan {
namespace {

constexpr std::int64_t most_pairs = 4096;

Hull hull_of(const Footprint& print) {
  Hull hull;
  for (const auto& [extent, stride] : print.axes) {
    if (extent == 0) return {};
    (stride < 0 ? hull.low : hull.high) += (extent - 1) * stride;
  }
  hull.high += print.size;
  return hull;
}

/// The hull modulo `period`, as seen from the first element; empty where it fills the period.
Hull hull_within(const Footprint& print, std::int64_t period) {
  Footprint rest = print;
  for (auto& axis : rest.axes)
    if (axis.stride % period == 0) axis = {};
  const Hull hull = hull_of(rest);
  return hull.high - hull.low < period ? hull : Hull{};
}

/// Whether x and y keep to different parts of a period that both repeat with. `distance` leads from x to y.
bool apart_within(std::int64_t period, const Footprint& x, const Footprint& y, std::int64_t distance) {
  if (period > INT64_MAX / 2) return false;  // the sums below would not fit
  const Hull of_x = hull_within(x, period);
  const Hull of_y = hull_within(y, period);
  if (of_x.high == of_x.low || of_y.high == of_y.low) return false;
  const std::int64_t from_x_to_y = (distance % period + (of_y.low - of_x.low) % period) % period;
  const std::int64_t start = from_x_to_y < 0 ? from_x_to_y + period : from_x_to_y;
  return start >= of_x.high - of_x.low && start + (of_y.high - of_y.low) <= period;
}

/// Every stride is tried as the period, and what divides all of them.
bool apart_by_period(const Footprint& x, const Footprint& y, std::int64_t distance) {
  std::int64_t divides_all = 0;
  for (const Footprint* print : {&x, &y})
    for (const auto& axis : print->axes) {
      if (axis.stride == 0) continue;
      divides_all = std::gcd(divides_all, axis.stride);
      if (apart_within(axis.stride < 0 ? -axis.stride : axis.stride, x, y, distance)) return true;
    }
  return divides_all != 0 && apart_within(divides_all, x, y, distance);
}

bool apart(const void* x, const Footprint& x_print, const void* y, const Footprint& y_print) {
  return disjoint(x, x_print.hull, y, y_print.hull) ||
         apart_by_period(x_print, y_print, static_cast<const char*>(y) - static_cast<const char*>(x));
}

Footprint one_product(const Footprint& print) {
  Footprint one = print;
  one.axes[2] = {};
  one.hull = hull_of(one);
  return one;
}

}  // namespace

Footprint footprint(const OperandLayout& layout, std::int64_t rows, std::int64_t columns, std::int64_t batch_count,
                    ElementType type) {
  const std::int64_t size = size_in_bytes(type);
  const auto axis = [&](std::int64_t extent, std::int64_t stride) {
    return Footprint::Axis{extent, extent > 1 ? stride * size : 0};
  };
  Footprint print{.axes = {axis(rows, layout.row_stride), axis(columns, layout.column_stride),
                           axis(batch_count, layout.batch_stride)},
                  .size = size,
                  .hull = {}};
  print.hull = hull_of(print);
  return print;
}

bool may_share_within_hulls(const void* x, const Footprint& x_print, const void* y, const Footprint& y_print) {
  if (apart(x, x_print, y, y_print)) return false;
  const auto [x_count, x_step] = x_print.axes[2];
  const auto [y_count, y_step] = y_print.axes[2];
  if (x_count == 1 && y_count == 1) return true;
  // Of batches with one stride only the difference of two indices counts, so x moves and y's first product stands for
  // all of them.
  const bool in_step = x_step == y_step && x_count == y_count;
  const std::int64_t first = in_step ? 1 - x_count : 0;
  const std::int64_t others = in_step ? 1 : y_count;
  if (x_count - first > most_pairs / others) return true;
  const Footprint of_x = one_product(x_print);
  const Footprint of_y = one_product(y_print);
  for (std::int64_t p = first; p < x_count; ++p)
    for (std::int64_t q = 0; q < others; ++q)
      if (!apart(static_cast<const char*>(x) + p * x_step, of_x, static_cast<const char*>(y) + q * y_step, of_y))
        return true;
  return false;
}

}  // namespace exactile::plan
