// SPDX-License-Identifier: Apache-2.0
/// \file How deep products read a chunk of terms.
#pragma once

#include <algorithm>

#include "core/checked.hpp"
#include "cpu/micro/amx.hpp"
#include "cpu/micro/tile.hpp"
#include "cpu/small/in_place.hpp"
#include "cpu/small/paged_b.hpp"

namespace exactile::cpu {

/// How one thread reads a chunk of both operands: where they lie, or packed on the way where micro-kernels cannot.
template <class K>
struct DeepReading {
  bool packs_a;
  bool packs_b;
  bool asks_for_b;  ///< the first tile of rows, for the panels that come: L2 does not hold a chunk of B
  AOrder order;
  std::int64_t width;     ///< columns of a panel
  std::int64_t a_stride;  ///< of packed rows of A, which lie a line further apart than they are long
  std::int64_t a_lanes;   ///< of all packed rows of a chunk
  std::int64_t b_lanes;   ///< of a packed panel of a chunk

  DeepReading(const Orientation& o, const MicroKernels<K>& kernels)
      : packs_a(!reads_operands<K> || (!a_by_rows(o) && !a_by_columns(o))),
        packs_b(!reads_operands<K> || !b_by_rows(o)),
        asks_for_b(!packs_a && !packs_b && has_panels_ahead(o, kernels) &&
                   bytes_of(std::min(o.k, chunk_terms<K>), o.n, packed_size<K>) >
                       static_cast<double>(caches().l2) / 2) {
    constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(Lane<K>));
    const bool by_rows =
        packs_a ? !reads_operands<K> && !in_tile_registers<K> && a_by_rows(o) : o.a.row_stride != 1 && o.m != 1;
    order = by_rows ? AOrder::rows : AOrder::columns;
    width = std::int64_t{packs_a || packs_b || asks_for_b ? kernels.vectors : kernels.most_vectors} * kernels.lanes;
    const std::int64_t terms = std::min(o.k, chunk_terms<K>);
    a_stride = core::round_up(lanes_of<K>(terms), line) + line;
    a_lanes = packs_a ? core::round_up(o.m * a_stride, line) : 0;
    b_lanes = packs_b ? core::round_up(width * packed_lanes<K>(terms), line) : 0;
  }
  /// Whether tiles ask for their share of the next chunk's B.
  [[nodiscard]] bool asks_for_chunk(const Orientation& o, const MicroKernels<K>& kernels) const {
    const auto rows = static_cast<int>(std::min<std::int64_t>(o.m, kernels.rows_of(kernels.most_vectors)));
    return !packs_b && !asks_for_b && order == AOrder::rows && o.k > chunk_terms<K> &&
           o.n >= kernels.most_vectors * kernels.lanes && !kernels.is_short(rows, kernels.most_vectors);
  }
  [[nodiscard]] std::int64_t bytes() const { return (a_lanes + b_lanes) * static_cast<std::int64_t>(sizeof(Lane<K>)); }
};

}  // namespace exactile::cpu
