// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/simt/division.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/checked.hpp"
#include "cuda/tile/summation_order.hpp"

namespace exactile::cuda::simt {
namespace {

constexpr double launch_seconds = 3e-6;
constexpr double block_seconds = 1.5e-6;  ///< from a block's start to its first term, and from its last to its end

double real(std::int64_t x) { return static_cast<double>(x); }

/// Bytes that must come from memory or go there, the sums of separate chunks among them.
double memory_seconds(const GemmDescription& d, const Device& device, std::int64_t sums_of_chunks) {
  const double inputs = real(d.m) * real(d.k) + real(d.k) * real(d.n);
  const double bytes =
      real(size_in_bytes(d.types.input)) * inputs + real(size_in_bytes(d.types.output)) * real(d.m) * real(d.n) +
      2 * real(size_in_bytes(accumulator_type(d.types.input))) * real(d.m) * real(d.n) * real(sums_of_chunks);
  return real(d.batch_count) * bytes / (0.8 * device.memory_bytes_per_second);
}

/// Units go to multiprocessors as these become free; the last ones may leave some idle.
double compute_seconds(double units, double terms, const Device& device, const TileCost& cost) {
  const double sms = device.multiprocessors;
  const double full_rounds = std::floor(units / (sms * cost.blocks_per_sm));
  const double rest = units - full_rounds * sms * cost.blocks_per_sm;
  const double together = std::ceil(rest / sms);  // blocks on the fullest multiprocessor in the last round
  const double share = cost.blocks_per_sm > 1 ? (together - 1) / (cost.blocks_per_sm - 1) : 1;
  const double cycles = cost.cycles_alone + (cost.cycles_together - cost.cycles_alone) * std::max(0.0, share);
  const double rounds = full_rounds * cost.blocks_per_sm * cost.cycles_together + together * cycles;
  return rounds * terms / device.clock_hertz + (full_rounds + 1) * block_seconds;
}

}  // namespace

Estimate divide(const GemmDescription& d, const Device& device, const TileCost& cost) {
  Division division;
  division.row_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.m, cost.bm));
  division.column_tiles = static_cast<std::uint32_t>(core::ceil_divide(d.n, cost.bn));
  division.chunks = core::ceil_divide(d.k, chunk_terms);
  const double tiles = real(division.row_tiles) * division.column_tiles * real(d.batch_count);
  const double slots = real(device.multiprocessors) * cost.blocks_per_sm;

  Estimate best{division, std::numeric_limits<double>::infinity()};
  for (std::int64_t splits = 1; splits <= division.chunks; ++splits) {
    division.chunks_per_split = core::ceil_divide(division.chunks, splits);
    division.splits = static_cast<std::uint32_t>(core::ceil_divide(division.chunks, division.chunks_per_split));
    const double terms = std::min(real(d.k), real(division.chunks_per_split * chunk_terms));
    const bool apart = division.splits > 1;
    const double seconds =
        (apart ? 2 : 1) * launch_seconds + std::max(compute_seconds(tiles * division.splits, terms, device, cost),
                                                    memory_seconds(d, device, apart ? division.chunks : 0));
    if (seconds < best.seconds) best = {division, seconds};
    if (tiles * real(splits) > 8 * slots) break;
  }
  if (best.division.splits == 1) best.division.chunks_per_split = best.division.chunks;
  return best;
}

bool is_transposed(const GemmDescription& d) { return d.c.row_stride == 1 && (d.c.column_stride != 1 || d.n == 1); }

GemmDescription oriented(const GemmDescription& d) {
  if (!is_transposed(d)) return d;
  const auto transposed = [](OperandLayout layout) {
    std::swap(layout.row_stride, layout.column_stride);
    return layout;
  };
  GemmDescription t = d;
  std::swap(t.m, t.n);
  t.a = transposed(d.b);
  t.b = transposed(d.a);
  t.c = transposed(d.c);
  if (d.bias != Bias::none) t.bias = d.bias == Bias::per_row ? Bias::per_column : Bias::per_row;
  return t;
}

GemmArguments oriented(const GemmDescription& d, const GemmArguments& arguments) {
  GemmArguments t = arguments;
  if (is_transposed(d)) std::swap(t.a, t.b);
  return t;
}

std::string_view refuses(const plan::Problem& problem, int bm, int bn) {
  const GemmDescription& d = oriented(problem.description);
  const double units = real(core::ceil_divide(d.m, bm)) * real(core::ceil_divide(d.n, bn)) * real(d.batch_count) *
                       real(core::ceil_divide(d.k, chunk_terms));
  if (units > 0x7fffffff) return "more tiles than one grid has blocks";
  if (problem.accuracy != Accuracy::standard && problem.accuracy != Accuracy::reduced)
    return "keeps the bound of the plain loop only";
  return "";
}

}  // namespace exactile::cuda::simt
