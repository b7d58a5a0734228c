// SPDX-License-Identifier: Apache-2.0
#include "cuda/model/fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "tuning/table/descent.hpp"

namespace exactile::cuda::model {
namespace {

struct Sample {
  Demand demand;
  double measured;
  bool at_least;  ///< it was too slow to be kept
};
struct SamplesOfKey {
  RatesKey key;
  std::vector<Sample> samples;
};
using Samples = std::map<std::string, SamplesOfKey>;  ///< by to_string(RatesKey)

/// Kernels that can do a product on the rows' device.
template <class Visit>
void for_each_candidate(const plan::Problem& problem, const Device& device, std::span<const Kernel* const> kernels,
                        Visit&& visit) {
  for (const Kernel* kernel : kernels)
    if (can_do(*kernel, problem, device))
      for (const Candidate& candidate : kernel->candidates(problem, device)) visit(*kernel, candidate);
}

plan::Problem problem_of(const MeasuredProduct& product) {
  return {.description = product.description, .accuracy = product.accuracy, .memory = Memory::device};
}

/// A way that a product lacks, and that one before it of the same type has, was too slow to be kept; of what has no
/// rates yet that is not certain: few products tried it. What rates make much slower than that says nothing.
Samples samples_of(const DeviceRows& rows, std::span<const Kernel* const> kernels) {
  Samples samples;
  std::set<std::tuple<std::string_view, std::string, ElementType, Accuracy>> known;
  for (const MeasuredProduct& product : rows.products) {
    const ElementType input = product.description.types.input;
    const double fastest = std::ranges::min_element(product.times, {}, &Time::seconds)->seconds;
    for_each_candidate(problem_of(product), rows.facts, kernels, [&](const Kernel& kernel, const Candidate& candidate) {
      const auto time = std::ranges::find_if(product.times, [&](const Time& t) {
        const Way& way = rows.ways[static_cast<std::size_t>(t.way)];
        return way.kernel == kernel.name && way.configuration == candidate.configuration;
      });
      const bool is_kept = time != product.times.end();
      std::tuple way(kernel.name, to_string(candidate.configuration), input, product.accuracy);
      const RatesKey key = rates_key(kernel, input, candidate, rows.facts);
      if (!is_kept) {
        constexpr double much = 2;
        const auto rates = rows.rates.find(key);
        if (!known.contains(way) || rates == rows.rates.end() ||
            seconds(candidate.demand, rates->second, rows.overheads, rows.facts) > much * kept * fastest)
          return;
      }
      SamplesOfKey& at = samples[to_string(key)];
      at.key = key;
      at.samples.push_back({candidate.demand, is_kept ? time->seconds : kept * fastest, !is_kept});
      known.insert(std::move(way));
    });
  }
  return samples;
}

double error_of(const std::vector<Sample>& samples, const Rates& rates, const Overheads& overheads,
                const Device& device) {
  double sum = 0;
  for (const Sample& sample : samples) {
    const double ratio = seconds(sample.demand, rates, overheads, device) / sample.measured;
    if (!sample.at_least || ratio < 1) sum += std::abs(std::log(ratio));
  }
  return sum;
}

/// Begins with rates as if nothing but steps took time.
Rates first_rates(const std::vector<Sample>& samples) {
  std::vector<double> steps;
  for (const Sample& s : samples)
    steps.push_back(s.measured /
                    (std::max(1.0, s.demand.tiles * s.demand.ctas / s.demand.slots) * std::max(s.demand.steps, 1e-3)));
  std::ranges::nth_element(steps, steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2));
  return {.step = 0.5 * steps[steps.size() / 2], .tile = 1e-6, .head = 0.3};
}

/// The rates of what is stored otherwise differ from those of what is stored best, where these are known, in the time
/// of a tile.
void fit_rates(DeviceRows& rows, const Samples& samples) {
  constexpr std::ptrdiff_t least_samples = 4;  // of which more than the step's time follows
  const auto fit_one = [&](const SamplesOfKey& of_key) {
    const auto kept_ones = std::ranges::count(of_key.samples, false, &Sample::at_least);
    if (kept_ones == 0) return;
    auto [at, is_new] = rows.rates.try_emplace(of_key.key);
    Rates& rates = at->second;
    if (is_new) rates = first_rates(of_key.samples);
    RatesKey stored_best = of_key.key;
    stored_best.store = 0;
    const auto best = of_key.key.store == 0 ? rows.rates.end() : rows.rates.find(stored_best);
    const bool has_best = best != rows.rates.end();
    if (has_best) rates = {best->second.step, is_new ? best->second.tile : rates.tile, best->second.head};
    // Zero would stay zero.
    constexpr double short_tile = 1e-8, small_head = 0.01;
    rates.tile = std::max(rates.tile, short_tile);
    rates.head = std::max(rates.head, small_head);
    const std::array<double*, 3> all{&rates.step, &rates.tile, &rates.head};
    const auto fitted = has_best                    ? std::span(all).subspan(1, 1)
                        : kept_ones < least_samples ? std::span(all).first(1)
                                                    : std::span(all);
    tuning::descend(fitted, [&] { return error_of(of_key.samples, rates, rows.overheads, rows.facts); });
  };
  for (const bool is_best : {true, false})
    for (const auto& [name, of_key] : samples)
      if ((of_key.key.store == 0) == is_best) fit_one(of_key);
}

void fit_overheads(DeviceRows& rows, const Samples& samples) {
  Overheads& o = rows.overheads;
  tuning::descend(std::array<double*, 6>{&o.launch, &o.side_launch, &o.overlap, &o.share, &o.copy_share, &o.turn_share},
                  [&] {
                    if (std::max({o.share, o.copy_share, o.turn_share}) > 1)
                      return std::numeric_limits<double>::infinity();
                    double sum = 0;
                    for (const auto& [name, of_key] : samples)
                      if (const auto rates = rows.rates.find(of_key.key); rates != rows.rates.end())
                        sum += error_of(of_key.samples, rates->second, o, rows.facts);
                    return sum;
                  });
}

}  // namespace

void fit(DeviceRows& rows, std::span<const Kernel* const> kernels) {
  constexpr int rounds = 3;
  if (!(rows.overheads.launch > 0))
    rows.overheads = {
        .launch = 2e-6, .side_launch = 2e-6, .overlap = 0.2, .share = 0.8, .copy_share = 0.7, .turn_share = 0.3};
  const Samples samples = samples_of(rows, kernels);
  for (int round = 0; round < rounds; ++round) {
    fit_rates(rows, samples);
    fit_overheads(rows, samples);
  }
  fit_rates(rows, samples);
}

std::vector<ChoiceQuality> cross_validated(const DeviceRows& rows, std::span<const Kernel* const> kernels,
                                           bool corrected) {
  const DeviceModel model(rows.facts, rows, kernels);
  std::vector<ChoiceQuality> all;
  std::map<ElementType, double> logarithms;
  for (const MeasuredProduct& product : model.rows().products) {
    const GemmDescription& d = product.description;
    auto at = std::ranges::find(all, d.types, &ChoiceQuality::types);
    if (at == all.end()) at = all.insert(at, {.types = d.types});
    double least = std::numeric_limits<double>::infinity(), fastest = least, chosen = least;
    for (const Time& time : product.times) fastest = std::min(fastest, time.seconds);
    const Kernel* taken = nullptr;
    Configuration configuration;
    const plan::Problem problem = problem_of(product);
    for (const Kernel* kernel : kernels) {
      std::vector<Candidate> candidates;
      for_each_candidate(problem, rows.facts, std::span(&kernel, 1),
                         [&](const Kernel&, const Candidate& candidate) { candidates.push_back(candidate); });
      if (candidates.empty()) continue;
      const Ranked first = model.rank(*kernel, problem, candidates, corrected, &product).front();
      if (first.seconds >= least) continue;
      least = first.seconds;
      taken = kernel;
      configuration = first.configuration;
    }
    if (taken == nullptr) continue;
    for (const Time& time : product.times) {
      const Way& way = rows.ways[static_cast<std::size_t>(time.way)];
      if (way.kernel == taken->name && way.configuration == configuration) chosen = time.seconds;
    }
    const double ratio = std::min(chosen / fastest, kept);
    logarithms[d.types.input] += std::log(ratio);
    ++at->products;
    at->mean = std::exp(logarithms[d.types.input] / at->products);
    at->worst = std::max(at->worst, ratio);
  }
  return all;
}

}  // namespace exactile::cuda::model
