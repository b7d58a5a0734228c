// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "plan/choice.hpp"
#include "plan/select.hpp"

namespace exactile::plan {
namespace {

std::vector<Offer> offers_of(const KernelEntry& entry, const Problem& problem, std::size_t most) {
  if (entry.offers != nullptr) return entry.offers(problem, most);
  return {{.parameters = problem.parameters, .seconds = entry.cost(problem)}};
}

/// Of ways that are sorted by estimate, `most`: the two cheapest, the cheapest one of each of a few other kernels, as
/// long as it might be the fastest, then what is cheapest besides. Ways of a kernel resemble each other: where the
/// estimate of one is too low, so are all.
std::vector<Way> different_first(std::vector<Way> ways, std::size_t most) {
  constexpr double might_be_fastest = 2;  // times the cheapest estimate
  std::vector<Way> kept, others;
  for (Way& way : ways) {
    const bool is_another = std::ranges::find(kept, way.kernel, &Way::kernel) == kept.end();
    const bool is_near = kept.empty() || way.offer.seconds <= might_be_fastest * kept.front().offer.seconds;
    const bool is_first = kept.size() < 2 || (is_another && is_near && kept.size() <= most / 2);
    (is_first ? kept : others).push_back(std::move(way));
  }
  std::ranges::move(others, std::back_inserter(kept));
  kept.resize(std::min(most, kept.size()));
  return kept;
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
  return different_first(std::move(ways), most);
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
