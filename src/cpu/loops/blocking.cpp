// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/blocking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "cpu/caches.hpp"

namespace exactile::cpu {

std::string Blocking::text() const {
  return fmt::format("MR={} NR={} MC={} KC={} NC={}{}", mr, nr, mc, kc, nc,
                     source.empty() ? "" : fmt::format(" ({})", source));
}

Blocking blocking_for(const BlockedTile& tile, std::int64_t m, std::int64_t n, std::int64_t k, bool a_is_packed,
                      int threads) {
  // With e and s the sizes of an element and a sum and KC NC e = L2 / 2, e / NC + 2 s / KC is least for this KC.
  const double best_kc =
      std::sqrt(static_cast<double>(tile.sum_size * caches().l2)) / static_cast<double>(tile.element_size);
  const std::int64_t best_chunks = std::max<std::int64_t>(std::llround(best_kc / static_cast<double>(tile.chunk)), 1);
  const double c_bytes = static_cast<double>(m) * static_cast<double>(core::ceil_divide(n, std::int64_t{threads})) *
                         static_cast<double>(tile.sum_size);
  const bool c_is_near = c_bytes <= static_cast<double>(caches().l1);
  const std::int64_t chunks = tile.in_tile_registers && !c_is_near ? best_chunks : 1;
  const std::int64_t kc = std::min(chunks * tile.chunk, k);
  const std::int64_t term_bytes = kc * tile.element_size;
  const std::int64_t a_bytes = std::min<std::int64_t>(caches().l3 / 4, 12 << 20);
  const std::int64_t a_rows = a_is_packed ? std::max<std::int64_t>(a_bytes / term_bytes / tile.rows, 1) * tile.rows : m;
  // Blocks of nearly equal height: a short last one would pack B again for little.
  const std::int64_t blocks = std::max<std::int64_t>(core::ceil_divide(m, a_rows), 1);
  const std::int64_t b_columns = core::round_up(std::max<std::int64_t>(caches().l2 / 2 / term_bytes, 1), tile.columns);
  return {.mr = tile.rows,
          .nr = tile.columns,
          .mc = core::round_up(core::ceil_divide(m, blocks), tile.rows),
          .kc = kc,
          .nc = std::min(b_columns, core::round_up(n, tile.columns))};
}

}  // namespace exactile::cpu
