// SPDX-License-Identifier: Apache-2.0
/// \file One vector of columns of C, whose A comes from memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"
#include "cpu/isa.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/micro/choose_tile.hpp"
#include "cpu/small/in_place.hpp"

namespace exactile::cpu {

/// Hardware follows the rows of such an A no further than to the end of a page, which a chunk of terms or two reach.
/// Not on Intel's processors: with AVX-512 they have other tiles of one vector, with AVX2 nothing was measured.
template <class T>
[[nodiscard]] bool asks_for_a(const Orientation& o, AOrder order, const MicroKernels<T>& kernels) {
  return kernels.asking_column != nullptr && o.n <= kernels.lanes && order == AOrder::rows && a_streams(o, sizeof(T)) &&
         !shuffles_delay_multiply_adds();
}

/// Part `part` of `parts` of the row tiles. Each tile asks for its rows' next chunk of terms, the last chunk for the
/// first one of the next tile.
template <class T>
void multiply_streamed_a(const Orientation& o, const MicroKernels<T>& kernels, const Operands<T>& data,
                         std::int64_t part, std::int64_t parts) {
  const std::int64_t tiles = core::ceil_divide(o.m, std::int64_t{streamed_rows});
  const Range mine = part_of(tiles, parts, part);
  TileShape shape{o.a.row_stride, o.b.row_stride, o.c.row_stride, 0, o.n};
  for (std::int64_t t = mine.begin; t < mine.end; ++t) {
    const Range rows = part_of(o.m, tiles, t);
    const Range next = t + 1 < mine.end ? part_of(o.m, tiles, t + 1) : Range{rows.end, rows.end};
    const auto kernel = kernels.asking_column(static_cast<int>(rows.end - rows.begin), o.n < kernels.lanes);
    T* c = data.c + rows.begin * o.c.row_stride;
    for (std::int64_t p = 0; p < o.k; p += shape.k) {
      shape.k = std::min(o.k - p, chunk_terms<T>);
      const std::int64_t end = p + shape.k;
      const Range coming = end < o.k ? rows : next;
      const Ahead<T> ahead{.a = data.a + coming.begin * o.a.row_stride + (end < o.k ? end : 0),
                           .a_stride = o.a.row_stride * static_cast<std::int64_t>(sizeof(T)),
                           .a_rows = static_cast<int>(coming.end - coming.begin),
                           .lines = c,
                           .line_stride = o.c.row_stride,
                           .line_rows = 0};
      kernel(shape, data.a + rows.begin * o.a.row_stride + p, data.b + p * o.b.row_stride, c, data.alpha,
             p == 0 ? data.beta : T(1), ahead);
    }
  }
}

}  // namespace exactile::cpu
