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
  SumOrder order = SumOrder::common;
};

bool competes(const plan::KernelEntry& entry, const plan::Problem& problem) {
  return entry.role == "engine" && !entry.certifies &&
         std::ranges::find(entry.types, problem.description.types) != entry.types.end() &&
         entry.unavailable(0).empty() && entry.refuses(problem).empty();
}

/// Of the kernel that is estimated to be the fastest; of an empty list, the common one.
SumOrder fastest_order(const plan::Problem& problem) {
  double least = std::numeric_limits<double>::infinity();
  SumOrder order = SumOrder::common;
  for (const plan::KernelEntry& entry : kernel_list()) {
    if (!competes(entry, problem)) continue;
    latest_estimate() = {};
    const double seconds = entry.cost(problem);
    const RatesKey& key = latest_estimate().key;
    if (key.family.empty() || seconds >= least) continue;  // without a family it gives way to all that the model ranks
    least = seconds;
    order = order_of(key);
  }
  return order;
}

/// For the product alone, which is not empty.
SumOrder chosen_order(const plan::Problem& problem) {
  constinit thread_local Answer latest{};
  const plan::Problem one = alone(problem);
  if (latest.description != one.description) latest = {one.description, fastest_order(one)};
  return latest.order;
}

/// Of a product that vectors can do.
bool vectors_sum_otherwise(const GemmDescription& d) {
  if (!is_floating(d.types.input)) return false;
  const bool shares_chunks = d.types.input == ElementType::f32 || d.types.input == ElementType::f64;
  return !shares_chunks || !vector_roles(d).across;
}

/// Whether tile registers are there for the product.
bool has_tiles(const plan::Problem& problem) {
  return problem.description.types.input == ElementType::bf16 && !problem.reproducible &&
         why_unavailable(Isa::amx).empty();
}

/// So many rows, columns and terms are the tiles' without a look at costs.
bool fills_tiles(const GemmDescription& d) {
  constexpr std::int64_t side = 16;
  return std::min(d.m, d.n) >= side && d.k >= 2 * side;
}

bool is_empty(const GemmDescription& d) { return d.m == 0 || d.n == 0 || d.k == 0; }  // nothing is summed

}  // namespace

SumOrder order_of(const RatesKey& key) {
  if (key.family == "vectors") return SumOrder::vectors;
  return key.isa == Isa::amx && key.input == ElementType::bf16 ? SumOrder::tiles : SumOrder::common;
}

bool sums_may_differ(const plan::Problem& problem) {
  const GemmDescription& d = problem.description;
  if (problem.reproducible || is_empty(d)) return false;
  const bool has_vectors = std::min(d.m, d.n) <= most_vectors_at_once && vectors_sum_otherwise(d);
  return has_vectors || (has_tiles(problem) && !fills_tiles(d));
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

bool sums_as_vectors(const plan::Problem& problem) { return chosen_order(problem) == SumOrder::vectors; }

bool sums_in_tiles(const plan::Problem& problem) {
  const GemmDescription& d = problem.description;
  return has_tiles(problem) && !is_empty(d) && (fills_tiles(d) || chosen_order(problem) == SumOrder::tiles);
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
