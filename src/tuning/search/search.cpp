// SPDX-License-Identifier: Apache-2.0
#include "search/search.hpp"

#include <algorithm>

namespace exactile::tuning {
namespace {

constexpr int random_start = 24;    ///< candidates before the first neighbours
constexpr int random_every = 5;     ///< afterwards one in so many is random
constexpr int most_draws = 20000;   ///< of random combinations, most of them illegal
constexpr std::size_t centres = 4;  ///< the best so many have their neighbours tried

/// One step along a parameter's values from where the centre is; its value need not be one of them.
std::vector<std::int64_t> steps_from(const Range& range, std::int64_t value) {
  const auto at = std::ranges::find(range.values, value);
  if (at == range.values.end()) return range.values;
  std::vector<std::int64_t> steps;
  if (at != range.values.begin()) steps.push_back(*(at - 1));
  if (at + 1 != range.values.end()) steps.push_back(*(at + 1));
  return steps;
}

}  // namespace

Search::Search(Space space, IsLegal is_legal, std::uint64_t seed)
    : space_(std::move(space)), is_legal_(std::move(is_legal)), generator_(seed) {}

void Search::suggest(const Parameters& parameters) { suggested_.push_back(parameters); }

void Search::report(const Parameters& parameters, double rate) {
  if (!known_.insert(parameters.to_string()).second)
    std::erase_if(results_, [&](const Result& r) { return r.parameters == parameters; });
  const auto behind = [&](const Result& r) { return r.rate < rate; };
  if (rate > 0) results_.insert(std::ranges::find_if(results_, behind), {parameters, rate});
}

std::vector<Parameters> Search::leaders(std::size_t most, double share) const {
  std::vector<Parameters> all;
  for (const Result& r : results_)
    if (all.size() < most && r.rate >= share * best_rate()) all.push_back(r.parameters);
  return all;
}

bool Search::is_new(const Parameters& parameters) const {
  return !known_.contains(parameters.to_string()) && is_legal_(parameters);
}

std::size_t Search::pick(std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(generator_);
}

std::optional<Parameters> Search::random_candidate() {
  for (int draw = 0; draw < most_draws; ++draw) {
    Parameters candidate;
    for (const Range& range : space_) candidate.set(range.name, range.values[pick(range.values.size())]);
    if (is_new(candidate)) return candidate;
  }
  return std::nullopt;
}

std::optional<Parameters> Search::neighbour_of(const Parameters& centre, int changes) {
  std::vector<Parameters> around{centre};
  for (int change = 0; change < changes; ++change) {
    std::vector<Parameters> further;
    for (const Parameters& from : around)
      for (const Range& range : space_)
        for (const std::int64_t value : steps_from(range, from.get(range.name))) {
          further.push_back(from);
          further.back().set(range.name, value);
        }
    around = std::move(further);
  }
  std::ranges::shuffle(around, generator_);
  const auto found = std::ranges::find_if(around, [&](const Parameters& p) { return is_new(p); });
  if (found == around.end()) return std::nullopt;
  return *found;
}

std::optional<Parameters> Search::next() {
  while (!suggested_.empty()) {
    const Parameters candidate = suggested_.front();
    suggested_.erase(suggested_.begin());
    if (is_new(candidate)) return candidate;
  }
  const bool is_random = handed_out_ < random_start || handed_out_ % random_every == 0 || results_.empty();
  ++handed_out_;
  if (is_random)
    if (auto candidate = random_candidate()) return candidate;
  for (int changes = 1; changes <= 2; ++changes)
    for (std::size_t i = 0; i < std::min(centres, results_.size()); ++i)
      if (auto candidate = neighbour_of(results_[i].parameters, changes)) return candidate;
  return random_candidate();
}

}  // namespace exactile::tuning
