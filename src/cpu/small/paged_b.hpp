// SPDX-License-Identifier: Apache-2.0
/// \file A B that is read in place from memory, panel after panel down a chunk's rows, where no hardware prefetcher
/// follows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"
#include "cpu/caches.hpp"
#include "cpu/loops/partition.hpp"
#include "cpu/loops/product.hpp"
#include "cpu/micro/choose_tile.hpp"
#include "cpu/small/few_terms.hpp"
#include "cpu/small/in_place.hpp"

namespace exactile::cpu {

/// Whether packing kernels, given no place, can ask for panels that come: there are some, and tiles are not short.
template <class K>
[[nodiscard]] bool has_panels_ahead(const Orientation& o, const MicroKernels<K>& kernels) {
  const auto rows = static_cast<int>(std::min<std::int64_t>(o.m, kernels.rows));
  return o.n > packing_ahead * kernels.vectors * kernels.lanes && !kernels.is_short(rows, kernels.vectors);
}

/// Whether the first tile of rows asks for the panels that come: L2 does not hold B.
template <class T>
[[nodiscard]] bool asks_for_b(const Orientation& o, const MicroKernels<T>& kernels) {
  return o.k > few_terms && b_by_rows(o) && has_panels_ahead(o, kernels) && !stays_in_l2<T>(o) &&
         bytes_of(o.k, o.n, sizeof(T)) > static_cast<double>(caches().l2) / 2;
}

/// Part `part` of `parts` of each panel's row tiles. The outermost loop takes chunks of terms: the TLB holds the pages
/// of one chunk while all panels are walked. Down all of K each panel would look its pages up again, which takes twice
/// as long where K is thousands (f32 14 x 2422 x 8106 on Zen 4 and on an Emerald Rapids).
template <class T>
void multiply_paged_b(const Orientation& o, const MicroKernels<T>& kernels, AOrder order, const Operands<T>& data,
                      std::int64_t part, std::int64_t parts) {
  const std::int64_t width = kernels.vectors * kernels.lanes;
  const std::int64_t tiles = core::ceil_divide(o.m, std::int64_t{kernels.rows});
  const Range mine = part_of(tiles, parts, part);
  TileShape shape{order == AOrder::columns ? o.a.column_stride : o.a.row_stride,
                  o.b.row_stride,
                  o.c.row_stride,
                  0,
                  0,
                  o.a.conjugate,
                  o.b.conjugate};
  for (std::int64_t p = 0; p < o.k; p += chunk_terms<T>) {
    shape.k = std::min(o.k - p, chunk_terms<T>);
    const T beta = p == 0 ? data.beta : T(1);
    for (std::int64_t j = 0; j < o.n; j += width) {
      const std::int64_t columns = std::min(width, o.n - j);
      const int vectors = static_cast<int>(core::ceil_divide(columns, kernels.lanes));
      const bool has_more = j + packing_ahead * width < o.n;
      shape.last_lanes = columns - (vectors - 1) * kernels.lanes;
      const T* const b = data.b + p * o.b.row_stride + j;
      for (std::int64_t t = mine.begin; t < mine.end; ++t) {
        const Range rows = part_of(o.m, tiles, t);
        const int height = static_cast<int>(rows.end - rows.begin);
        const T* const a = data.a + rows.begin * o.a.row_stride + p * o.a.column_stride;
        T* const c = data.c + rows.begin * o.c.row_stride + j;
        if (t == mine.begin && has_more && !kernels.is_short(height, vectors))
          kernels.packing_tile(order, height, vectors)(shape, a, b, c, data.alpha, beta, nullptr);
        else
          choose_tile(kernels, order, height, vectors, shape.last_lanes != kernels.lanes)(shape, a, b, c, data.alpha,
                                                                                          beta);
      }
    }
  }
}

}  // namespace exactile::cpu
