// SPDX-License-Identifier: Apache-2.0
// When the packed loops are worth taking: their parameters, and their estimated time.
#include "cpu/caches.hpp"
#include "cpu/loops/kinds.hpp"
#include "cpu/loops/outline.hpp"
#include "cpu/loops/packed.hpp"

namespace exactile::cpu {
namespace {

/// Of bringing A to where the micro-kernel reads it, per byte.
double seconds_of_a(const Orientation& o, ASource source, std::int64_t column_blocks) {
  switch (source) {
    case ASource::in_place: return 0;
    case ASource::copied: return pack_seconds;
    case ASource::packed: return o.a.column_stride == 1 ? tile_pack_seconds : pack_seconds;
    case ASource::packed_by_tile: return tile_pack_seconds * static_cast<double>(column_blocks);
    case ASource::packed_with_first: break;
  }
  return tile_pack_seconds;
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
double packed_cost(const plan::Problem& problem, const MicroKernels<K>& kernels) {
  const Orientation o = preferred_orientation(problem.description);
  const auto m = static_cast<double>(core::round_up(o.m, 2));
  const auto n = static_cast<double>(core::round_up(o.n, kernels.lanes));
  const auto k = static_cast<double>(o.k);
  const double arithmetic = m * n * k * 1.04 / terms_per_second(kernels);
  // B is packed on the way where its columns are neighbours; A may be read where it lies.
  const LoopTile tile = choose_loop_tile(kernels, o.m);
  const double on_the_way = tile.packs_a ? tile_pack_seconds : 0;
  const double b_bytes = static_cast<double>(sizeof(Input<K>)) * k * n;
  const Outline outline = outline_of(problem, o, kernels);
  // Threads that share a block of columns pack it for themselves.
  const double copies =
      std::max(1.0, static_cast<double>(outline.threads) / static_cast<double>(outline.column_blocks));
  const double packing =
      b_bytes * copies * (o.b.column_stride == 1 ? on_the_way : pack_seconds) +
      static_cast<double>(sizeof(Input<K>)) * m * k * seconds_of_a(o, outline.a_source, outline.column_blocks);
  // As direct's cost has it, with which these tiles compete for small products.
  const bool is_near = wide_tiles_compete(kernels, o.m, o.n, o.k) && b_bytes <= static_cast<double>(caches().l2) / 2;
  const double memory = is_near ? 0 : first_reads(m, n, k, static_cast<std::int64_t>(sizeof(Input<K>)));
  const auto products = static_cast<double>(problem.description.batch_count);
  if (outline.threads == 1) return (arithmetic + packing + memory + 300e-9) * products;
  const Blocking& blocks = outline.model.blocking;
  const std::int64_t tiles = core::ceil_divide(o.m, blocks.mr) * core::ceil_divide(o.n, blocks.nr);
  // Before each step, and when all is done.
  const double meetings =
      static_cast<double>(core::ceil_divide(o.m, blocks.mc) * core::ceil_divide(o.k, blocks.kc) + 1) * meeting_seconds;
  return ((arithmetic * unevenness(tiles, outline.threads) + packing + memory) / outline.threads + meetings) * products;
}

#define EXACTILE_JUDGE(...)                                                                         \
  template std::string_view packed_refuses(const plan::Problem&, const MicroKernels<__VA_ARGS__>&); \
  template double packed_cost(const plan::Problem&, const MicroKernels<__VA_ARGS__>&);
EXACTILE_FOR_EACH_KIND(EXACTILE_JUDGE)

}  // namespace exactile::cpu
