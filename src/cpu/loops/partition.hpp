// SPDX-License-Identifier: Apache-2.0
/// \file How rows, columns and threads are cut into parts of nearly equal size.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"

namespace exactile::cpu {

/// Part `index` of [0, size) cut into `parts` whose sizes differ by at most one.
struct Range {
  std::int64_t begin;
  std::int64_t end;
};

[[nodiscard]] inline Range part_of(std::int64_t size, std::int64_t parts, std::int64_t index) {
  const std::int64_t base = size / parts;
  const std::int64_t extra = size % parts;
  const std::int64_t begin = index * base + std::min(index, extra);
  return {begin, begin + base + (index < extra ? 1 : 0)};
}

/// A team of threads as a grid over C.
struct ThreadGrid {
  int rows;
  int columns;
};

/// The grid whose busiest thread has the fewest tiles; among equals the one with fewer columns, because every column of
/// the grid packs its own copy of A.
[[nodiscard]] inline ThreadGrid thread_grid(int threads, std::int64_t row_tiles, std::int64_t column_tiles) {
  ThreadGrid best{1, 1};
  std::int64_t best_load = INT64_MAX;
  for (int columns = 1; columns <= threads; ++columns) {
    const int rows = threads / columns;
    const std::int64_t load = core::ceil_divide(row_tiles, rows) * core::ceil_divide(column_tiles, columns);
    if (load < best_load) {
      best = {rows, columns};
      best_load = load;
    }
  }
  return best;
}

}  // namespace exactile::cpu
