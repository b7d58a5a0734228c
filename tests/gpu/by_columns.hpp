// SPDX-License-Identifier: Apache-2.0
/// \file A matrix in the other order, for tests of layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace exactile::test {

/// [rows][columns] as [columns][rows].
template <class T>
[[nodiscard]] std::vector<T> by_columns(const std::vector<T>& x, std::int64_t rows, std::int64_t columns) {
  std::vector<T> to(x.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      to[static_cast<std::size_t>(j * rows + i)] = x[static_cast<std::size_t>(i * columns + j)];
  return to;
}

}  // namespace exactile::test
