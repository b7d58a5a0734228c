// SPDX-License-Identifier: Apache-2.0
/// \file One matrix on the GPU in every kind of layout, so that parts of it are products of their own.
#pragma once

#include <array>
#include <cstring>

#include "gpu/device_product.hpp"

namespace exactile::test {

/// By rows and by columns, each with a leading dimension that is a whole number of vectors and one that is not, and
/// with gaps between elements.
inline constexpr int layout_kinds = 5;

/// That kind of layout; `unit`: a whole number of vectors, whatever the type.
[[nodiscard]] inline OperandLayout layout_of(int kind, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t unit = 16;
  const auto rounded = [](std::int64_t size) { return (size + unit - 1) / unit * unit; };
  switch (kind) {
    case 0: return {.row_stride = rounded(columns)};
    case 1: return {.row_stride = rounded(columns) + 1};
    case 2: return {.row_stride = 1, .column_stride = rounded(rows)};
    case 3: return {.row_stride = 1, .column_stride = rounded(rows) + 3};
    default: return {.row_stride = 2 * columns + 1, .column_stride = 2};
  }
}

/// Elements from the first to behind the last.
[[nodiscard]] inline std::int64_t extent_of(const OperandLayout& layout, std::int64_t rows, std::int64_t columns) {
  return (rows - 1) * layout.row_stride + (columns - 1) * layout.column_stride + 1;
}

/// Of f32: one in a thousand is 10^4 times as large, one in ninety 10^-6 times.
inline void spread(std::vector<std::byte>& elements) {
  for (std::size_t i = 0; i < elements.size() / sizeof(float); ++i) {
    const float factor = i % 1009 == 5 ? 1e4f : i % 89 == 3 ? 1e-6f : 1.0f;
    float x;
    std::memcpy(&x, elements.data() + i * sizeof x, sizeof x);
    x *= factor;
    std::memcpy(elements.data() + i * sizeof x, &x, sizeof x);
  }
}

class LayeredMatrix {
 public:
  /// `is_spread`: whether it is spread().
  LayeredMatrix(const Context& context, ElementType type, std::int64_t rows, std::int64_t columns,
                verification::Fill fill, verification::Part part, bool is_spread = false)
      : size_(size_in_bytes(type)), rows_(rows), columns_(columns) {
    std::vector<std::byte> elements(static_cast<std::size_t>(rows * columns * size_));
    verification::fill(fill, 7, type, rows, columns, {.row_stride = columns}, 1, elements.data(), part);
    if (is_spread) spread(elements);
    for (int kind = 0; kind < layout_kinds; ++kind) {
      const OperandLayout to = layout_of(kind, rows, columns);
      std::vector<std::byte> laid(static_cast<std::size_t>(extent_of(to, rows, columns) * size_));
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          std::memcpy(laid.data() + (i * to.row_stride + j * to.column_stride) * size_,
                      elements.data() + (i * columns + j) * size_, static_cast<std::size_t>(size_));
      Result<DeviceMemory> memory = context.allocate(std::ssize(laid));
      EXPECT_TRUE(memory.ok() && memory.value().upload(laid.data(), std::ssize(laid)).ok());
      memory_.push_back(std::move(memory).value());
    }
  }

  [[nodiscard]] OperandLayout layout(int kind) const { return layout_of(kind, rows_, columns_); }
  /// Its element (i, j).
  [[nodiscard]] const void* at(int kind, std::int64_t i, std::int64_t j) const {
    const OperandLayout l = layout(kind);
    return memory_[static_cast<std::size_t>(kind)].at((i * l.row_stride + j * l.column_stride) * size_);
  }

 private:
  std::int64_t size_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<DeviceMemory> memory_;
};

}  // namespace exactile::test
