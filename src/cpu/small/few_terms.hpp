// SPDX-License-Identifier: Apache-2.0
/// \file Products of few terms, whose C goes to memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"
#include "cpu/caches.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/micro/choose_tile.hpp"
#include "cpu/small/in_place.hpp"

namespace exactile::cpu {

/// Of so few terms C is most of the traffic.
inline constexpr std::int64_t few_terms = 64;
/// From a tile to the part of its rows that is asked for; of shorter rows, to the next tile.
template <class T>
inline constexpr std::int64_t columns_ahead = 1024 / static_cast<std::int64_t>(sizeof(T));

/// On Intel's processors asking for C gains nothing or loses a fifth.
template <class T>
[[nodiscard]] bool asks_for_c(const Orientation& o, const MicroKernels<T>& kernels) {
  return o.k <= few_terms && o.n >= kernels.most_vectors * kernels.lanes &&
         bytes_of(o.m, o.n, sizeof(T)) > static_cast<double>(caches().l2) && !reads_delay_multiply_adds();
}

/// Part `part` of `parts` of the row tiles, each walked along its rows, as wide as tiles may be: the fewer rows are
/// written at a time, the longer the streams.
template <class T>
void multiply_few_terms(const Orientation& o, const MicroKernels<T>& kernels, AOrder order, const Operands<T>& data,
                        std::int64_t part, std::int64_t parts) {
  const std::int64_t width = kernels.most_vectors * kernels.lanes;
  const std::int64_t tiles = core::ceil_divide(o.m, std::int64_t{kernels.rows_of(kernels.most_vectors)});
  const Range mine = part_of(tiles, parts, part);
  const std::int64_t whole_row = core::round_up(o.n, width);
  const std::int64_t distance = std::min(columns_ahead<T>, whole_row);
  const auto ask = [&](Range rows, std::int64_t column) {
    const std::int64_t end = std::min(column + width, o.n);
    for (std::int64_t i = rows.begin; i < rows.end; ++i)
      for (std::int64_t j = column; j < end; j += 64 / static_cast<std::int64_t>(sizeof(T)))
        __builtin_prefetch(data.c + i * o.c.row_stride + j, 1);
  };
  for (std::int64_t t = mine.begin; t < mine.end; ++t) {
    const Range rows = part_of(o.m, tiles, t);
    const Range next = part_of(o.m, tiles, std::min(t + 1, mine.end - 1));
    const T* a = data.a + rows.begin * o.a.row_stride;
    for (std::int64_t j = 0; j < o.n; j += width) {
      const std::int64_t ahead = j + distance;
      if (ahead < o.n)
        ask(rows, ahead);
      else
        ask(next, ahead - whole_row);
      const std::int64_t columns = std::min(width, o.n - j);
      const int vectors = static_cast<int>(core::ceil_divide(columns, kernels.lanes));
      const std::int64_t last_lanes = columns - (vectors - 1) * kernels.lanes;
      const TileShape shape{order == AOrder::columns ? o.a.column_stride : o.a.row_stride,
                            o.b.row_stride,
                            o.c.row_stride,
                            o.k,
                            last_lanes,
                            o.a.conjugate,
                            o.b.conjugate};
      const auto kernel =
          choose_tile(kernels, order, static_cast<int>(rows.end - rows.begin), vectors, last_lanes != kernels.lanes);
      kernel(shape, a, data.b + j, data.c + rows.begin * o.c.row_stride + j, data.alpha, data.beta);
    }
  }
}

}  // namespace exactile::cpu
