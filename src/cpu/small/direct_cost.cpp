// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/checked.hpp"
#include "cpu/caches.hpp"
#include "cpu/loops/kinds.hpp"
#include "cpu/model/team.hpp"
#include "cpu/small/direct.hpp"
#include "cpu/small/paged_b.hpp"
#include "cpu/small/panel.hpp"

namespace exactile::cpu {
std::string_view direct_refuses(const plan::Problem& problem) {
  const Orientation o = preferred_orientation(problem.description);
  if (!c_is_row_contiguous(o)) return "C has neither unit row stride nor unit column stride";
  if (!b_by_rows(o) && !copies_b(o, size_in_bytes(problem.description.types.input)))
    return o.exchanged ? "A's rows are not neighbours" : "B's columns are not neighbours";
  if (!a_by_rows(o) && !a_by_columns(o)) return "one operand has no unit stride";
  return {};
}

template <class T>
Demand direct_demand(const plan::Problem& problem, const MicroKernels<T>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  constexpr std::int64_t size = sizeof(T);
  const double b_bytes = bytes_of(o.k, o.n, size);
  const auto products = static_cast<double>(problem.description.batch_count);
  const auto m = static_cast<double>(o.m);
  const auto n = static_cast<double>(o.n);
  const auto k = static_cast<double>(o.k);
  const double row_tiles = static_cast<double>(core::ceil_divide(o.m, kernels.rows));
  // What does not stay in L2 is fetched again: a panel of B for every tile of rows, A for every panel.
  const double l2_share = static_cast<double>(caches().l2) / 2;
  const std::int64_t width = kernels.vectors * kernels.lanes;
  // Terms of all panels before the next ones.
  const std::int64_t terms = asks_for_b(o, kernels) ? std::min(o.k, chunk_terms<T>) : o.k;
  const double b_reads = bytes_of(terms, width, size) <= l2_share ? 1 : row_tiles;
  const double a_reads =
      bytes_of(o.m, terms, size) <= l2_share ? 1 : static_cast<double>(core::ceil_divide(o.n, width));
  const std::int64_t parts = std::max(problem.description.batch_count, core::ceil_divide(o.m, kernels.rows));
  Demand d;
  d.threads = members(parts, problem.threads);
  const bool shares_products = problem.description.batch_count >= d.threads;
  const double cycles = cycles_of(kernels, m * k * static_cast<double>(core::round_up(o.n, kernels.lanes))) *
                        unevenness(shares_products ? problem.description.batch_count : parts, d.threads);
  // One vector of columns leaves few multiply-adds to each element of A, which is then waited for.
  const bool is_slow = o.n <= kernels.lanes && a_streams(o, size);
  const bool is_near = b_bytes <= static_cast<double>(caches().l1);
  d[is_slow ? Work::slow_cycles : is_near ? Work::near_cycles : Work::far_cycles] = products * cycles;
  add_tiles(d, kernels, o.m, o.n, o.k, static_cast<int>(panel_width(o, kernels) / kernels.lanes), products);
  d[Work::read_bytes] = products * (bytes_once<T>(m, n, k) + (b_by_rows(o) ? 0 : b_bytes));  // a copy is read, too
  // B is read down its columns, a few lines of each row.
  if (b_bytes > l2_share) {
    d[Work::paged_bytes] = products * b_bytes * b_reads * paged_share_of_b(o, terms, size);
    d[Work::reread_bytes] = products * static_cast<double>(size) * (m * k * (a_reads - 1) + k * n * (b_reads - 1));
  }
  if (o.k > few_terms && !copies_b(o, size) && !asks_for_b(o, kernels))
    d[Work::reread_bytes] += products * b_bytes * walked_share_of_b(o, size);
  // Each term of a tile is on a page of its own, of which little is used before it is gone, once for every panel.
  const bool turns_pages = o.n > kernels.lanes && a_streams(o, size) && !a_by_rows(o);
  if (turns_pages) d[Work::paged_bytes] += products * static_cast<double>(size) * m * k * a_reads;
  d[Work::displaced_rows] = products * row_tiles * k * static_cast<double>(core::ceil_divide(o.n, width)) *
                            displaced_share(terms, width * size, o.b.row_stride * size);
  d[Work::starts] = products / d.threads;
  add_team(d, 1, 0, shares_products ? 0 : products * b_bytes);
  return d;
}

#define EXACTILE_DEMAND(...) template Demand direct_demand(const plan::Problem&, const MicroKernels<__VA_ARGS__>&);
EXACTILE_FOR_EACH_PLAIN_KIND(EXACTILE_DEMAND)

}  // namespace exactile::cpu
