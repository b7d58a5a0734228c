// SPDX-License-Identifier: Apache-2.0
/// \file Panels of C's columns, and the tiles of their rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"
#include "cpu/caches.hpp"
#include "cpu/micro/choose_tile.hpp"
#include "cpu/small/few_terms.hpp"
#include "cpu/small/in_place.hpp"

namespace exactile::cpu {

/// Columns of a full panel. Wide tiles read less: four vectors of B and six elements of A for as many multiply-adds as
/// two and twelve. They need B's panel in L1, and C's lines near, which they visit in fewer rows at a time.
template <class T>
[[nodiscard]] std::int64_t panel_width(const Orientation& o, const MicroKernels<T>& kernels) {
  const std::int64_t widest = kernels.most_vectors * kernels.lanes;
  const bool is_near = stays_in_l2<T>(o) && bytes_of(o.k, widest, sizeof(T)) <= static_cast<double>(caches().l1);
  return is_near || asks_for_c(o, kernels) ? widest : kernels.vectors * kernels.lanes;
}

/// The columns of C are cut into panels of full width and a last one, each of these into row tiles of two heights.
template <class T>
struct Panel {
  int vectors = 0;
  TileShape shape{};            ///< k: of the first chunk
  std::int64_t tiles = 0;       ///< row tiles over all of m
  std::int64_t tall_tiles = 0;  ///< the first so many have height + 1 rows
  std::int64_t height = 0;
  typename MicroKernels<T>::Kernel tall = nullptr;
  typename MicroKernels<T>::Kernel plain = nullptr;
};

/// A panel of so many columns; of none, one without tiles.
template <class T>
[[nodiscard]] Panel<T> panel_of(const Orientation& o, const MicroKernels<T>& kernels, AOrder order,
                                std::int64_t width) {
  Panel<T> panel;
  if (width == 0) return panel;
  panel.vectors = static_cast<int>(core::ceil_divide(width, kernels.lanes));
  panel.shape = {.a_stride = order == AOrder::columns ? o.a.column_stride : o.a.row_stride,
                 .b_stride = o.b.row_stride,
                 .c_stride = o.c.row_stride,
                 .k = std::min(o.k, chunk_terms<T>),
                 .last_lanes = width - (panel.vectors - 1) * kernels.lanes,
                 .conjugates_a = o.a.conjugate,
                 .conjugates_b = o.b.conjugate};
  const bool masked = panel.shape.last_lanes != kernels.lanes;
  const bool streams = panel.vectors == 1 && a_streams(o, sizeof(T));
  const int most_rows = std::min(streams ? streamed_rows : kernels.sums, kernels.rows_of(panel.vectors));
  panel.tiles = core::ceil_divide(o.m, most_rows);
  panel.height = o.m / panel.tiles;
  panel.tall_tiles = o.m % panel.tiles;
  panel.plain = choose_tile(kernels, order, static_cast<int>(panel.height), panel.vectors, masked);
  if (panel.tall_tiles > 0)
    panel.tall = choose_tile(kernels, order, static_cast<int>(panel.height) + 1, panel.vectors, masked);
  return panel;
}

}  // namespace exactile::cpu
