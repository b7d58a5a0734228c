// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops/blocking.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/checked.hpp"
#include "cpu/caches.hpp"

namespace exactile::cpu {

std::string Blocking::text() const {
  return fmt::format("MR={} NR={} MC={} KC={} NC={}{}", mr, nr, mc, kc, nc,
                     source.empty() ? "" : fmt::format(" ({})", source));
}

Blocking blocking_for(int rows, int columns, std::int64_t element_size, std::int64_t chunk, std::int64_t m,
                      std::int64_t n, std::int64_t k, bool a_is_packed) {
  const std::int64_t kc = std::min(chunk, k);
  const std::int64_t term_bytes = kc * element_size;
  const std::int64_t a_bytes = std::min<std::int64_t>(caches().l3 / 4, 12 << 20);
  const std::int64_t a_rows = a_is_packed ? std::max<std::int64_t>(a_bytes / term_bytes / rows, 1) * rows : m;
  // Blocks of nearly equal height: a short last one would pack B again for little.
  const std::int64_t blocks = std::max<std::int64_t>(core::ceil_divide(m, a_rows), 1);
  const std::int64_t b_columns = core::round_up(std::max<std::int64_t>(caches().l2 / 2 / term_bytes, 1), columns);
  return {.mr = rows,
          .nr = columns,
          .mc = core::round_up(core::ceil_divide(m, blocks), rows),
          .kc = kc,
          .nc = std::min(b_columns, core::round_up(n, columns))};
}

}  // namespace exactile::cpu
