// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/simt/division.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/checked.hpp"
#include "cuda/tile/summation_order.hpp"
#include "plan/transposed.hpp"

namespace exactile::cuda::simt {
namespace {

constexpr double launch_seconds = 3e-6;
constexpr double second_launch_seconds = 5e-6;  ///< of the kernel that adds up what splits have left in memory
constexpr double pack_seconds = 2.5e-6;         ///< of the kernel that packs B, and packed_bytes_per_second more
constexpr double packed_bytes_per_second = 1.7e12;
constexpr double block_seconds = 1.5e-6;  ///< from a block's start to its first term, and from its last to its end

double real(std::int64_t x) { return static_cast<double>(x); }

/// Whether the sums of separate chunks take more than a large L2, and what a device would miss.
bool are_too_large(const GemmDescription& d, std::int64_t chunks) {
  constexpr double most_bytes = 512e6;
  return real(chunks) * real(d.m) * real(d.n) * real(d.batch_count) *
             real(size_in_bytes(accumulator_type(d.types.input))) >
         most_bytes;
}

/// Bytes that must come from memory or go there, the sums of separate chunks among them.
double memory_seconds(const GemmDescription& d, const Device& device, std::int64_t sums_of_chunks) {
  const double inputs = real(d.m) * real(d.k) + real(d.k) * real(d.n);
  const double bytes =
      real(size_in_bytes(d.types.input)) * inputs + real(size_in_bytes(d.types.output)) * real(d.m) * real(d.n) +
      2 * real(size_in_bytes(accumulator_type(d.types.input))) * real(d.m) * real(d.n) * real(sums_of_chunks);
  return real(d.batch_count) * bytes / (0.8 * device.memory_bytes_per_second);
}

constexpr int few_rows = 8;  ///< of a tile

/// How many times as long B's panels of 4-byte elements make a term where they are not copied by vectors, as measured:
/// what a block multiplies hides the copies of single elements the less, the smaller its tile.
double price_of_copies(const GemmDescription& d, const TileCost& cost) {
  constexpr int small = 32, vector = 4;
  if (size_in_bytes(d.types.input) != 4) return 1;
  const bool along_terms = d.b.row_stride == 1;
  if (along_terms) return cost.bm <= few_rows ? 2.2 : 1;
  const bool by_vectors = d.n % vector == 0 && d.b.row_stride % vector == 0 && d.b.column_stride == 1;
  return by_vectors ? 1 : cost.bm <= few_rows ? 3 : cost.bm <= small ? 1.45 : 1.3;
}

TileCost with_copies(TileCost cost, const GemmDescription& d) {
  const double price = price_of_copies(d, cost);
  cost.cycles_alone *= price;
  cost.cycles_together *= price;
  return cost;
}

/// Units go to multiprocessors as these become free; in the last round some have fewer than others.
double compute_seconds(double units, double terms, const Device& device, const TileCost& cost) {
  const double sms = device.multiprocessors;
  const double rounds = std::floor(units / (sms * cost.blocks_per_sm));
  const double rest = std::ceil((units - rounds * sms * cost.blocks_per_sm) / sms);
  const double cycles = rounds * std::max(cost.cycles_alone, cost.blocks_per_sm * cost.cycles_together) +
                        (rest > 0 ? std::max(cost.cycles_alone, rest * cost.cycles_together) : 0);
  constexpr double least_terms = 32;  // as many are multiplied, or take as long to load and store for
  return cycles * std::max(terms, least_terms) / device.clock_hertz + (rounds + (rest > 0 ? 1 : 0)) * block_seconds;
}

/// The same where the last units are shared out: every multiprocessor has as much to do.
double shared_seconds(double units, double terms, const Device& device, const TileCost& cost) {
  constexpr double handing_over = 15e-6;  // a launch more, zeroing, sums to memory and back
  constexpr double price = 1.08;          // blocks are at different places of K, and shares begin anew
  const double slots = real(device.multiprocessors) * cost.blocks_per_sm;
  const double whole = std::max(0.0, std::floor(units / slots) - 1);
  const double rounds = whole + price * (units / slots - whole);
  const double cycles = rounds * std::max(cost.cycles_alone, cost.blocks_per_sm * cost.cycles_together);
  return cycles * terms / device.clock_hertz + (std::floor(rounds) + 2) * block_seconds + handing_over;
}

/// The same tiles, of which `slots` blocks share the last.
Division shared_out(Division division, int slots, std::int64_t k) {
  const int tiles = static_cast<int>(division.row_tiles * division.column_tiles);
  const int pieces = static_cast<int>(core::ceil_divide(k, share_terms));
  const int whole = TileShares(tiles, slots, pieces, true).whole_tiles();
  division.splits = 1;
  division.chunks_per_split = division.chunks;
  division.sharing = static_cast<std::uint32_t>(slots);
  division.whole = static_cast<std::uint32_t>(whole);
  division.shares = TileShares(tiles - whole, slots, pieces, true);
  return division;
}

double packed_bytes(const GemmDescription& d, std::int64_t lines) {
  return real(size_in_bytes(d.types.input)) * real(packed_pitch(lines)) * real(d.k);
}

/// A view that repeats elements may be far larger packed than it is, and a large operand not fit beside itself.
bool is_small_packed(const GemmDescription& d, std::int64_t lines, const Device& device) {
  return packed_bytes(d, lines) <= real(device.memory_bytes) / 8;
}

/// Whether B could be packed for a tile that pays_packing() is not about, and its copies take time. Beside an A along
/// rows, B is not read by vectors (instance_for()).
bool may_pack_b(const GemmDescription& d, const Device& device, const TileCost& cost) {
  return cost.bm > few_rows && !packs_elements(size_in_bytes(d.types.input), cost.bm) && price_of_copies(d, cost) > 1 &&
         d.a.column_stride == 1 && d.n >= packed_step && d.batch_count == 1 && !d.b.pointer_array &&
         is_small_packed(d, d.n, device);
}

/// The best division where a term takes `cost`, however it is copied.
Estimate divide_at(const GemmDescription& d, const Device& device, const TileCost& cost) {
  Division division;
  division.row_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.m, cost.bm));
  division.column_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.n, cost.bn));
  division.chunks = core::ceil_divide(d.k, chunk_terms);
  const double tiles = real(division.row_tiles) * division.column_tiles * real(d.batch_count);
  const double slots = real(device.multiprocessors) * cost.blocks_per_sm;
  const bool sums_are_too_large = are_too_large(d, division.chunks);

  Estimate best{division, std::numeric_limits<double>::infinity()};
  for (std::int64_t splits = 1; splits <= division.chunks; ++splits) {
    division.chunks_per_split = core::ceil_divide(division.chunks, splits);
    division.splits = static_cast<std::uint32_t>(core::ceil_divide(division.chunks, division.chunks_per_split));
    const double terms = std::min(real(d.k), real(division.chunks_per_split * chunk_terms));
    const bool apart = division.splits > 1;
    if (constexpr double most_terms = 1 << 30; terms > most_terms) continue;  // they are counted in 32 bits
    if (apart && std::isfinite(best.seconds) && (tiles * division.splits > 0x7fffffff || sums_are_too_large)) break;
    const double seconds = launch_seconds + (apart ? second_launch_seconds : 0) +
                           std::max(compute_seconds(tiles * division.splits, terms, device, cost),
                                    memory_seconds(d, device, apart ? division.chunks : 0));
    if (seconds < best.seconds) best = {division, seconds};
    if (tiles * real(splits) > 8 * slots) break;
  }
  if (best.division.splits == 1) best.division.chunks_per_split = best.division.chunks;
  constexpr std::int64_t most_shared_terms = 1 << 30;
  if (!pays_packing(d, device, cost) || d.k > most_shared_terms || tiles <= slots || std::fmod(tiles, slots) == 0)
    return best;
  const double shared =
      launch_seconds + std::max(shared_seconds(tiles, real(d.k), device, cost), memory_seconds(d, device, 0));
  if (shared < best.seconds) best = {shared_out(division, static_cast<int>(slots), d.k), shared};
  return best;
}

/// The best division where B is packed.
Estimate divide_packed(const GemmDescription& d, const Device& device, const TileCost& cost) {
  Estimate packed = divide_at(d, device, cost);
  packed.packs_b = true;
  const double read = real(size_in_bytes(d.types.input)) * real(d.n) * real(d.k);
  packed.seconds += pack_seconds + (read + packed_bytes(d, d.n)) / packed_bytes_per_second;
  return packed;
}

}  // namespace

bool pays_packing(const GemmDescription& d, const Device& device, const TileCost& cost) {
  constexpr std::int64_t enough = 1536;
  return packs_elements(size_in_bytes(d.types.input), cost.bm) && std::min({d.m, d.n, d.k}) >= enough &&
         d.batch_count == 1 && !d.a.pointer_array && !d.b.pointer_array && is_small_packed(d, d.m, device) &&
         is_small_packed(d, d.n, device);
}

Estimate divide(const GemmDescription& d, const Device& device, const TileCost& cost) {
  if (pays_packing(d, device, cost) && price_of_copies(d, cost) > 1) return divide_packed(d, device, cost);
  const Estimate as_it_lies = divide_at(d, device, with_copies(cost, d));
  if (!may_pack_b(d, device, cost)) return as_it_lies;
  const Estimate packed = divide_packed(d, device, cost);
  return packed.seconds < as_it_lies.seconds ? packed : as_it_lies;
}

bool is_transposed(const GemmDescription& d, const TileCost& cost) {
  if (cost.bm <= few_rows && d.m != d.n) return d.n < d.m;
  // No bit depends on it here, so a single column is taken as a row, unlike in plan::is_column_major().
  return d.c.row_stride == 1 && (d.c.column_stride != 1 || d.n == 1);
}

GemmDescription oriented(const GemmDescription& d, bool transposed) { return transposed ? plan::transposed(d) : d; }

double estimate(const plan::Problem& problem, const Device& device, const TileCost& cost) {
  const GemmDescription& d = problem.description;
  return divide(oriented(d, is_transposed(d, cost)), device, cost).seconds;
}

std::string_view sums_refuse(const GemmDescription& d, std::int64_t chunks) {
  return are_too_large(d, chunks) ? "the sums of its chunks would take more than 512 MB" : "";
}

std::string_view refuses(const plan::Problem& problem, const TileCost& cost) {
  const GemmDescription d = oriented(problem.description, is_transposed(problem.description, cost));
  const double tiles = real(core::ceil_divide(d.m, cost.bm)) * real(core::ceil_divide(d.n, cost.bn));
  if (tiles * real(d.batch_count) > 0x7fffffff) return "more tiles than one grid has blocks";
  if (d.k > std::int64_t{1} << 40) return "K has more chunks than one grid has blocks";
  if (problem.accuracy != Accuracy::standard && problem.accuracy != Accuracy::reduced)
    return "keeps the bound of the plain loop only";
  return "";
}

}  // namespace exactile::cuda::simt
