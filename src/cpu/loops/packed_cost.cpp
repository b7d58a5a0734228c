// SPDX-License-Identifier: Apache-2.0
// When the packed loops are worth taking: their parameters, and their estimated time.
#include "cpu/caches.hpp"
#include "cpu/loops/kinds.hpp"
#include "cpu/loops/outline.hpp"
#include "cpu/loops/packed.hpp"

namespace exactile::cpu {
namespace {

/// Bytes of A that are packed, and how.
void add_packing_of_a(Demand& demand, const Orientation& o, ASource source, std::int64_t column_blocks, double bytes) {
  switch (source) {
    case ASource::in_place: return;
    case ASource::copied: demand[Work::block_bytes] += bytes; return;
    case ASource::packed: demand[o.a.column_stride == 1 ? Work::tile_bytes : Work::block_bytes] += bytes; return;
    case ASource::packed_by_tile: demand[Work::tile_bytes] += bytes * static_cast<double>(column_blocks); return;
    case ASource::packed_with_first: demand[Work::tile_bytes] += bytes; return;
  }
}

}  // namespace

template <class K>
std::string_view packed_refuses(const plan::Problem& problem, const MicroKernels<K>& kernels) {
  constexpr std::int64_t most_terms = 1 << 24;
  if (problem.description.types.output != element_type_v<Sum<K>> && problem.description.k > most_terms)
    return "C is narrower than its sums, so that a packed panel holds all of K; expected K of at most 16777216";
  if (problem.parameters.empty()) return {};
  return why_illegal_blocking(problem, outline_of(problem, preferred_orientation(problem.description), kernels).model);
}

template <class K>
Demand packed_demand(const plan::Problem& problem, const MicroKernels<K>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  const auto products = static_cast<double>(problem.description.batch_count);
  const auto m = static_cast<double>(core::round_up(o.m, 2));
  const auto n = static_cast<double>(core::round_up(o.n, kernels.lanes));
  const auto k = static_cast<double>(o.k);
  constexpr auto size = static_cast<std::int64_t>(sizeof(Input<K>));
  const LoopTile tile = choose_loop_tile(kernels, o.m);
  const Outline outline = outline_of(problem, o, kernels);
  const Blocking& blocks = outline.model.blocking;
  Demand d;
  d.threads = outline.threads;
  add_tiles(d, kernels, o.m, o.n, o.k, tile.vectors, products);
  // Threads that share a block of columns pack it for themselves.
  const double copies = std::max(1.0, static_cast<double>(d.threads) / static_cast<double>(outline.column_blocks));
  const double b_bytes = static_cast<double>(size) * k * n;
  const bool b_by_rows = o.b.column_stride == 1;
  d[!b_by_rows ? Work::block_bytes : tile.packs_a ? Work::tile_bytes : Work::way_bytes] = products * copies * b_bytes;
  add_packing_of_a(d, o, outline.a_source, outline.column_blocks, products * static_cast<double>(size) * m * k);
  // Wide tiles read less, and what is small enough is near when they compete for it.
  const bool is_near = wide_tiles_compete(kernels, o.m, o.n, o.k) && b_bytes <= static_cast<double>(caches().l2) / 2;
  if (!is_near) d[Work::read_bytes] = products * bytes_once<K>(m, n, k);
  const double uneven =
      d.threads == 1 ? 1 : unevenness(core::ceil_divide(o.m, blocks.mr) * core::ceil_divide(o.n, blocks.nr), d.threads);
  d[is_near ? Work::near_cycles : Work::far_cycles] = products * uneven * cycles_of(kernels, m * n * k);
  d[Work::starts] = products;
  // Before each step.
  const auto sharing = static_cast<double>(std::min<std::int64_t>(outline.column_blocks, d.threads)) / d.threads;
  add_team(d, products,
           products * static_cast<double>(core::ceil_divide(o.m, blocks.mc) * core::ceil_divide(o.k, blocks.kc)),
           products * sharing * static_cast<double>(size) * m * k);
  return d;
}

#define EXACTILE_JUDGE(...)                                                                         \
  template std::string_view packed_refuses(const plan::Problem&, const MicroKernels<__VA_ARGS__>&); \
  template Demand packed_demand(const plan::Problem&, const MicroKernels<__VA_ARGS__>&);
EXACTILE_FOR_EACH_KIND(EXACTILE_JUDGE)

}  // namespace exactile::cpu
