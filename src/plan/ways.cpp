// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "plan/choice.hpp"
#include "plan/select.hpp"

namespace exactile::plan {
namespace {

std::vector<Offer> offers_of(const KernelEntry& entry, const Problem& problem, std::size_t most) {
  if (entry.offers != nullptr) return entry.offers(problem, most);
  return {{.parameters = problem.parameters, .seconds = entry.cost(problem)}};
}

}  // namespace

std::vector<Way> cheapest_ways(std::span<const BackendEntry* const> backends, const Problem& problem,
                               const GemmOptions& options, std::size_t most) {
  std::vector<Way> ways;
  for (const BackendEntry* backend : backends) {
    if (!is_asked(*backend, options)) continue;
    for (const KernelEntry& entry : backend->kernels()) {
      if (!why_not(entry, problem, options).empty() || !entry.gives_way(problem).empty()) continue;
      for (Offer& offer : offers_of(entry, problem, most)) ways.push_back({&entry, std::move(offer)});
    }
  }
  std::ranges::stable_sort(ways, {}, [](const Way& way) { return way.offer.seconds; });
  ways.resize(std::min(most, ways.size()));
  return ways;
}

Choice settle(std::span<const BackendEntry* const> backends, const Problem& problem, const GemmOptions& options,
              const KernelEntry* by_estimate) {
  // Looking costs a microsecond or two, which small products would feel.
  constexpr double least_terms = 1 << 20;
  const GemmDescription& d = problem.description;
  const double terms = static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) *
                       static_cast<double>(d.batch_count);
  const bool measures = problem.planning == Planning::measured;
  const Choice estimated{by_estimate, problem.parameters};
  if (problem.planning == Planning::formula || !options.parameters.empty() || (!measures && terms < least_terms))
    return estimated;
  if (auto known = remembered_choice(backends, problem, options)) return *known;
  return measures ? measured_choice(backends, problem, options).value_or(estimated) : estimated;
}

}  // namespace exactile::plan
