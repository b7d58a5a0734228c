// SPDX-License-Identifier: Apache-2.0
#include "cpu/order_of_sums.hpp"

#include <algorithm>
#include <limits>

#include "cpu/isa.hpp"
#include "cpu/kernel_list.hpp"
#include "cpu/model/cost.hpp"
#include "cpu/small/vector_roles.hpp"

namespace exactile::cpu {
namespace {

/// What was asked last, as all kernels of a product ask.
struct Answer {
  GemmDescription description;
  bool vectors = false;
};

bool competes(const plan::KernelEntry& entry, const plan::Problem& problem) {
  return entry.role == "engine" && !entry.certifies &&
         std::ranges::find(entry.types, problem.description.types) != entry.types.end() &&
         entry.unavailable(0).empty() && entry.refuses(problem).empty();
}

bool vectors_are_fastest(const plan::Problem& problem) {
  constexpr double never = std::numeric_limits<double>::infinity();
  double vectors = never;
  double others = never;
  for (const plan::KernelEntry& entry : kernel_list()) {
    if (!competes(entry, problem)) continue;
    latest_estimate() = {};
    const double seconds = entry.cost(problem);
    const RatesKey& key = latest_estimate().key;
    if (key.family.empty()) continue;                                     // gives way to all that the model ranks
    if (key.isa == Isa::amx && key.input == ElementType::bf16) continue;  // gives way, see sums_in_tiles
    double& least = key.family == "vectors" ? vectors : others;
    least = std::min(least, seconds);
  }
  return vectors < others;
}

/// Of a product that vectors can do.
bool vectors_sum_otherwise(const GemmDescription& d) {
  if (!is_floating(d.types.input)) return false;
  const bool shares_chunks = d.types.input == ElementType::f32 || d.types.input == ElementType::f64;
  return !shares_chunks || !vector_roles(d).across;
}

}  // namespace

bool sums_may_differ(const plan::Problem& problem) {
  const GemmDescription& d = problem.description;
  const std::int64_t few = std::min(d.m, d.n);
  if (problem.reproducible || few > most_vectors_at_once) return false;
  if (few == 0 || d.k == 0) return false;  // nothing is summed
  return vectors_sum_otherwise(d);
}

std::string_view vectors_refuse_reproducible(const plan::Problem& problem) {
  return problem.reproducible && vectors_sum_otherwise(problem.description)
             ? "its order of summation depends on more than k (reproducible)"
             : std::string_view();
}

plan::Problem alone(plan::Problem problem) {
  problem.threads = 1;
  problem.description.batch_count = 1;
  problem.parameters.clear();
  return problem;
}

bool sums_as_vectors(const plan::Problem& problem) {
  constinit thread_local Answer latest{};
  const plan::Problem one = alone(problem);
  if (latest.description != one.description) latest = {one.description, vectors_are_fastest(one)};
  return latest.vectors;
}

bool sums_in_tiles(const plan::Problem& problem) {
  const GemmDescription& d = problem.description;
  constexpr std::int64_t side = 16;  // of a tile
  return d.types.input == ElementType::bf16 && !problem.reproducible && std::min(d.m, d.n) >= side && d.k >= 2 * side &&
         why_unavailable(Isa::amx).empty();
}

std::string_view gives_way_to_vectors(const plan::Problem& problem) {
  return sums_may_differ(problem) && sums_as_vectors(problem)
             ? "the bits of this product are those of the vector kernels"
             : std::string_view();
}

std::string_view vectors_give_way(const plan::Problem& problem) {
  return sums_may_differ(problem) && !sums_as_vectors(problem)
             ? "the bits of this product are those of the other kernels"
             : std::string_view();
}

}  // namespace exactile::cpu
