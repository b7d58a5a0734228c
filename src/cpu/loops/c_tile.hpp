// SPDX-License-Identifier: Apache-2.0
/// \file A tile of C with any strides.
#pragma once

#include <cstdint>

#include "cpu/orientation.hpp"

namespace exactile::cpu {

/// Lets `multiply(c, c_stride)` update the tile at `c`. Where C's columns are neighbours it works on C itself, whose
/// lines are asked for first if `ask`; elsewhere on a copy of the tile, which is not read where beta is zero.
template <class T, class Multiply>
void update_tile(T* c, const Orientation& o, T beta, int rows, std::int64_t columns, bool ask,
                 const Multiply& multiply) {
  if (c_is_row_contiguous(o)) {
    constexpr auto line_elements = 64 / static_cast<std::int64_t>(sizeof(T));
    const T* line = c;
    for (int i = 0; ask && i < rows; ++i, line += o.c.row_stride) {
      for (std::int64_t j = 0; j < columns; j += line_elements) __builtin_prefetch(line + j, 1);
      __builtin_prefetch(line + columns - 1, 1);  // rows that start within a line end in one more
    }
    multiply(c, o.c.row_stride);
    return;
  }
  constexpr std::int64_t largest_tile = 1024;  // elements; MR x NR of every instruction set fits
  alignas(64) T copy[largest_tile];
  const auto for_each = [&](auto&& visit) {
    for (int i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        visit(copy[i * columns + j], c[i * o.c.row_stride + j * o.c.column_stride]);
  };
  if (beta != T(0)) for_each([](T& there, const T& here) { there = here; });
  multiply(copy, columns);
  for_each([](const T& there, T& here) { here = there; });
}

}  // namespace exactile::cpu
