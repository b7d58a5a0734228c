// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "cpu/small/vector_blocks.hpp"
#include "cpu/small/vectors.hpp"

namespace exactile::cpu {

std::string_view vectors_refuse(const plan::Problem& problem) {
  const GemmDescription& d = problem.description;
  return std::min(d.m, d.n) > most_vectors_at_once ? "more than eight rows and columns" : std::string_view();
}

template <class In>
Demand vectors_demand(const plan::Problem& problem, int vector_bytes) {
  const GemmDescription& d = problem.description;
  const VectorRoles r = vector_roles(d);
  const auto size = static_cast<double>(sizeof(In));
  const auto products = static_cast<double>(d.batch_count);
  const auto vectors = static_cast<double>(r.vectors);
  const auto terms = static_cast<double>(r.terms);
  const double elements = products * static_cast<double>(r.lines) * terms;
  const double lanes = vector_bytes / static_cast<double>(sizeof(Accumulator<In>));
  Demand demand;
  const VectorShares shares = shares_of<In>(r, d.batch_count, problem.threads);
  demand.threads = shares.threads;
  // Two multiply-adds a cycle of so many lanes as sum; but each waits for a term of x that is loaded, too. Where a lane
  // adds several narrow terms at once, the rates are as much lower.
  demand[r.across ? Work::far_cycles : Work::near_cycles] =
      unevenness(shares.parts, shares.threads) * elements * vectors / (2 * lanes);
  demand[Work::read_bytes] = elements * size;
  // Lines that are summed along, or taken across by eight, and the last ones by themselves.
  constexpr std::int64_t together = 8;
  const auto groups = static_cast<double>(r.terms / together + r.terms % together);
  const auto blocks = static_cast<double>(core::ceil_divide(r.terms, block_terms<In>(r)));
  const auto tiles = static_cast<double>(core::ceil_divide(r.lines, lines_of_tile<In>(r)));
  // Threads that share lines have tiles of their own.
  const double of_tiles = shares.of == VectorShares::Of::lines ? std::max(tiles, 1.0 * shares.threads) : tiles;
  demand[Work::calls] = products * (r.across ? groups * tiles : static_cast<double>(r.lines) * blocks);
  if (r.across) {
    // Where the sums of a tile are few, each term waits for the one before; and each is laid out for each tile.
    constexpr double latency = std::is_integral_v<Accumulator<In>> ? 1 : 4;
    constexpr double strips = core::is_complex_v<In> ? 2 : 1;
    const double sums = strips * vectors * std::ceil(static_cast<double>(r.lines) / of_tiles / lanes);
    demand[Work::idle_cycles] = products * of_tiles * terms * std::max(0.0, latency - sums / 2);
    demand[Work::slow_cycles] = products * of_tiles * terms * strips * vectors;
  }
  const bool holds_x = !std::is_same_v<In, LaneOf<In>> || r.x_term_stride != 1;
  if (holds_x) demand[Work::tile_bytes] = products * of_tiles * vectors * terms * size;
  // Sums of blocks, to C; those that threads share, one of them adds.
  const bool shares_blocks = shares.of == VectorShares::Of::blocks;
  demand[Work::way_bytes] = (shares_blocks ? shares.threads : 1) * products * blocks * static_cast<double>(r.lines) *
                            vectors * static_cast<double>(sizeof(Accumulator<In>));
  if (!r.across && r.w_term_stride != 1) demand[Work::block_bytes] = elements * size;
  // A dot product of f32 or f64 by one thread is called without run(), see QuickDot. An epilogue is not asked for: the
  // order of sums must not depend on it.
  const bool is_quick = std::is_floating_point_v<In> && is_dot(r) && d.batch_count == 1 && shares.threads == 1;
  demand[Work::starts] = is_quick ? 0 : products;
  add_team(demand, 1, shares_blocks ? 2 * products * tiles : 0, 0);
  return demand;
}

// clang-format off
template Demand vectors_demand<float>(const plan::Problem&, int);
template Demand vectors_demand<double>(const plan::Problem&, int);
template Demand vectors_demand<Float16>(const plan::Problem&, int);
template Demand vectors_demand<BFloat16>(const plan::Problem&, int);
template Demand vectors_demand<Float8E4M3>(const plan::Problem&, int);
template Demand vectors_demand<Float8E5M2>(const plan::Problem&, int);
template Demand vectors_demand<std::int8_t>(const plan::Problem&, int);
template Demand vectors_demand<std::uint8_t>(const plan::Problem&, int);
template Demand vectors_demand<std::int16_t>(const plan::Problem&, int);
template Demand vectors_demand<std::int32_t>(const plan::Problem&, int);
template Demand vectors_demand<std::int64_t>(const plan::Problem&, int);
template Demand vectors_demand<WideInt32>(const plan::Problem&, int);
template Demand vectors_demand<std::complex<float>>(const plan::Problem&, int);
template Demand vectors_demand<std::complex<double>>(const plan::Problem&, int);
// clang-format on

}  // namespace exactile::cpu
