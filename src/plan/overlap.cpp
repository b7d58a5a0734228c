// SPDX-License-Identifier: Apache-2.0
#include "plan/overlap.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace exactile::plan {

Hull hull(const OperandLayout& layout, std::int64_t rows, std::int64_t columns, std::int64_t batch_count,
          ElementType type) {
  const std::array<std::pair<std::int64_t, std::int64_t>, 3> axes{
      {{rows, layout.row_stride}, {columns, layout.column_stride}, {batch_count, layout.batch_stride}}};
  Hull result;
  if (rows == 0 || columns == 0 || batch_count == 0) return result;
  for (const auto& [extent, stride] : axes) {
    const std::int64_t reach = (extent - 1) * stride;
    (reach < 0 ? result.low : result.high) += reach;
  }
  const std::int64_t size = size_in_bytes(type);
  result.low *= size;
  result.high = (result.high + 1) * size;
  return result;
}

bool may_share_element(const void* x, const OperandLayout& x_layout, std::int64_t x_rows, std::int64_t x_columns,
                       const void* y, const OperandLayout& y_layout, std::int64_t y_rows, std::int64_t y_columns,
                       std::int64_t element_size) {
  // Column-major pairs are row-major pairs read the other way round.
  if (x_layout.row_stride == 1 && y_layout.row_stride == 1) {
    const OperandLayout xt{x_layout.column_stride, 1, 0, false};
    const OperandLayout yt{y_layout.column_stride, 1, 0, false};
    if (x_layout.column_stride != 1 || y_layout.column_stride != 1)
      return may_share_element(x, xt, x_columns, x_rows, y, yt, y_columns, y_rows, element_size);
  }
  const std::int64_t stride = x_layout.row_stride;
  if (x_layout.column_stride != 1 || y_layout.column_stride != 1 || y_layout.row_stride != stride || stride <= 0)
    return true;
  const std::int64_t distance = static_cast<const char*>(y) - static_cast<const char*>(x);
  if (distance % element_size != 0 || x_columns > stride || y_columns > stride) return true;
  // Modulo the leading dimension x covers columns [0, x_columns) and y starts at `start`.
  const std::int64_t elements = distance / element_size;
  const std::int64_t start = ((elements % stride) + stride) % stride;
  return start < x_columns || start + y_columns > stride;
}

}  // namespace exactile::plan
