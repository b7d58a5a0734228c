// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cpu/loops/kinds.hpp"
#include "cpu/model/team.hpp"
#include "cpu/small/deep.hpp"
#include "cpu/small/deep_reading.hpp"

namespace exactile::cpu {
namespace {

constexpr double most_bytes_of_c = 1 << 20;

}  // namespace

template <class K>
std::string_view deep_refuses(const plan::Problem& problem, const MicroKernels<K>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  if (problem.description.types.output != element_type_v<Sum<K>>) return "C is narrower than its sums";
  if (static_cast<double>(o.m) * static_cast<double>(o.n) * sizeof(Sum<K>) > most_bytes_of_c)
    return "C is large enough to be shared out among threads";
  if (!c_is_row_contiguous(o)) return "C has neither unit row stride nor unit column stride";
  if (DeepReading<K>(o, kernels).bytes() > caches().l2) return "a chunk of what must be packed does not fit into L2";
  return {};
}

/// Whether one thread finds a chunk of A and B in L2 whenever it comes by; of a B that is packed, a chunk of A, which
/// passes for each panel. A single vector of columns is better off with long streams of A, see direct, unless one tile
/// holds all rows; few chunks are not worth the asking ahead.
template <class K>
bool stays_near(const Orientation& o, const MicroKernels<K>& kernels, const DeepReading<K>& reading) {
  constexpr std::int64_t least_chunks = 4;
  const auto l2 = static_cast<double>(caches().l2);
  if (reading.packs_b)
    return static_cast<double>(o.m * std::min(o.k, chunk_terms<K>)) * static_cast<double>(packed_size<K>) <= l2 / 4;
  const double chunk_bytes = static_cast<double>(o.m + o.n) * static_cast<double>(chunk_terms<K> * packed_size<K>);
  return core::ceil_divide(o.k, chunk_terms<K>) >= least_chunks && chunk_bytes <= l2 / 2 &&
         (o.n > kernels.lanes || o.m <= kernels.rows_of(1));
}

/// Rows of B's panels, and terms of A's tiles, that are waited for as they displace one another: each panel takes all
/// tiles of a chunk.
template <class K>
double displaced_rows(const Orientation& o, const MicroKernels<K>& kernels, const DeepReading<K>& reading) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(Input<K>));
  const std::int64_t terms = std::min(o.k, chunk_terms<K>);
  const std::int64_t rows = kernels.rows_of(static_cast<int>(reading.width / kernels.lanes));
  const double of_b = reading.packs_b ? 0 : displaced_share(terms, reading.width * size, o.b.row_stride * size);
  const bool reads_a = !reading.packs_a && reading.order == AOrder::columns;
  const double of_a = reads_a ? displaced_share(terms, std::min(rows, o.m) * size, o.a.column_stride * size) : 0;
  return (of_a + of_b) * static_cast<double>(core::ceil_divide(o.m, rows)) * static_cast<double>(o.k) *
         static_cast<double>(core::ceil_divide(o.n, reading.width));
}

template <class K>
Demand deep_demand(const plan::Problem& problem, const MicroKernels<K>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  const DeepReading<K> reading(o, kernels);
  const std::int64_t chunks = core::ceil_divide(o.k, chunk_terms<K>);
  const auto products = static_cast<double>(problem.description.batch_count);
  const auto m = static_cast<double>(o.m);
  const auto n = static_cast<double>(o.n);
  const auto k = static_cast<double>(o.k);
  const double c = m * static_cast<double>(core::round_up(o.n, kernels.lanes));
  constexpr auto size = static_cast<std::int64_t>(sizeof(Input<K>));
  const std::int64_t panels = core::ceil_divide(o.n, reading.width);
  const std::int64_t all_parts = core::checked_multiply(chunks, panels).value_or(problem.threads);
  Demand d;
  d.threads = members(all_parts, problem.threads);
  const double cycles = products * cycles_of(kernels, c * k);
  add_tiles(d, kernels, o.m, o.n, o.k, static_cast<int>(reading.width / kernels.lanes), products);
  d[Work::block_bytes] =
      products * k * static_cast<double>(size) * ((reading.packs_a ? m : 0) + (reading.packs_b ? n : 0));
  d[Work::read_bytes] = products * bytes_once<K>(m, n, k);
  // C's lines, and A's where it meets a packed B.
  d[Work::reread_bytes] = products * (bytes_of(o.m, o.n, sizeof(Sum<K>)) +
                                      (reading.packs_b && !reading.packs_a ? bytes_of(o.m, o.k, size) : 0));
  if (!reading.packs_b && !reading.asks_for_b && !reading.asks_for_chunk(o, kernels))
    d[Work::reread_bytes] += products * bytes_of(o.k, o.n, size) * walked_share_of_b(o, size);
  if (!reading.packs_b) d[Work::paged_bytes] = products * bytes_of(o.k, o.n, size) * paged_share_of_b(o, o.k, size);
  d[Work::displaced_rows] = products * displaced_rows(o, kernels, reading);
  d[Work::starts] = products;
  if (d.threads == 1) {
    d[stays_near(o, kernels, reading) ? Work::near_cycles : Work::slow_cycles] = cycles;
    return d;
  }
  d[Work::far_cycles] = cycles * unevenness(all_parts, d.threads);
  // The chunks' sums are written, and read again to be added.
  d[Work::block_bytes] += products * c * static_cast<double>(chunks) * static_cast<double>(sizeof(Sum<K>)) * 2;
  add_team(d, products, 2 * products, 0);
  return d;
}

#define EXACTILE_JUDGE(...)                                                                       \
  template std::string_view deep_refuses(const plan::Problem&, const MicroKernels<__VA_ARGS__>&); \
  template Demand deep_demand(const plan::Problem&, const MicroKernels<__VA_ARGS__>&);
EXACTILE_FOR_EACH_KIND(EXACTILE_JUDGE)

}  // namespace exactile::cpu
