// SPDX-License-Identifier: Apache-2.0
#include "cpu/model/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuning/table/descent.hpp"

namespace exactile::cpu {
namespace {

struct Sample {
  Demand demand;
  double seconds;
  double weight;
};

std::vector<RatesKey> keys_of(const std::vector<TimedProduct>& products) {
  std::vector<RatesKey> keys;
  for (const TimedProduct& product : products)
    for (const auto& kernel : product.kernels)
      if (std::ranges::find(keys, kernel.key) == keys.end()) keys.push_back(kernel.key);
  return keys;
}

double fastest_of(const TimedProduct& product) {
  return std::ranges::min_element(product.kernels, {}, &TimedProduct::Kernel::seconds)->seconds;
}

std::vector<Sample> samples_of(const RatesKey& key, const std::vector<TimedProduct>& products) {
  std::vector<Sample> samples;
  for (const TimedProduct& product : products)
    for (const auto& kernel : product.kernels)
      if (product.is_fitted_to && kernel.key == key)
        samples.push_back({kernel.demand, kernel.seconds, fastest_of(product) / kernel.seconds});
  return samples;
}

/// Begins with the rates that were known; what they left out begins as a small part of the time of a sample. What no
/// sample has keeps its rate.
Rates fitted_to(const std::vector<Sample>& samples, Rates rates) {
  constexpr double least_overlap = 1e-3;
  std::vector<double*> coefficients;
  for (std::size_t w = 0; w < rates.seconds.size(); ++w) {
    double most = 0;  // of a sample's time, a unit of this work
    for (const Sample& sample : samples)
      if (sample.demand.amounts[w] > 0) most = std::max(most, sample.seconds / sample.demand.amounts[w]);
    if (most == 0) continue;
    constexpr double small = 1e-3;
    if (rates.seconds[w] == 0) rates.seconds[w] = small * most;
    coefficients.push_back(&rates.seconds[w]);
  }
  rates.overlap = std::max(rates.overlap, least_overlap);
  coefficients.push_back(&rates.overlap);
  tuning::descend(coefficients, [&] {
    if (rates.overlap > 1) return std::numeric_limits<double>::infinity();
    double sum = 0;
    for (const Sample& sample : samples)
      sum += sample.weight * std::abs(std::log(seconds(sample.demand, rates) / sample.seconds));
    return sum;
  });
  return rates;
}

double estimated(const RatesKey& key, const Demand& demand, const std::vector<FittedRates>& fitted) {
  const auto found = std::ranges::find(fitted, key, &FittedRates::key);
  return seconds(demand, found == fitted.end() ? rates_of(key) : found->rates);
}

/// As the planner chooses: among all, or first an order of sums, see order_of_sums.hpp.
const TimedProduct::Kernel* choice_of(const TimedProduct& product, const std::vector<FittedRates>& fitted) {
  const auto first_of = [&](auto demand, const auto& is_asked) {
    const TimedProduct::Kernel* first = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& kernel : product.kernels) {
      if (!kernel.competes || !is_asked(kernel)) continue;
      const double seconds = estimated(kernel.key, kernel.*demand, fitted);
      if (seconds < least) first = &kernel;
      least = std::min(least, seconds);
    }
    return first;
  };
  const auto is_of_vectors = [](const TimedProduct::Kernel& kernel) { return kernel.key.family == "vectors"; };
  const auto any = [](const TimedProduct::Kernel&) { return true; };
  if (!product.sums_differ) return first_of(&TimedProduct::Kernel::demand, any);
  const TimedProduct::Kernel* alone = first_of(&TimedProduct::Kernel::alone, any);
  if (alone == nullptr) return nullptr;
  return first_of(&TimedProduct::Kernel::demand,
                  [&](const auto& kernel) { return is_of_vectors(kernel) == is_of_vectors(*alone); });
}

}  // namespace

std::vector<FittedRates> fit(const std::vector<TimedProduct>& products) {
  constexpr std::size_t least_samples = 20;
  std::vector<FittedRates> fitted;
  for (const RatesKey& key : keys_of(products)) {
    const std::vector<Sample> samples = samples_of(key, products);
    if (samples.size() >= least_samples) fitted.push_back({key, fitted_to(samples, rates_of(key))});
  }
  return fitted;
}

std::vector<ChoiceQuality> quality_of(const std::vector<TimedProduct>& products,
                                      const std::vector<FittedRates>& fitted) {
  std::vector<ChoiceQuality> all;
  for (const TimedProduct& product : products) {
    const TimedProduct::Kernel* chosen = choice_of(product, fitted);
    if (product.is_fitted_to || chosen == nullptr) continue;
    auto at = std::ranges::find(all, product.types, &ChoiceQuality::types);
    if (at == all.end()) at = all.insert(at, {.types = product.types});
    const double ratio = chosen->seconds / fastest_of(product);
    at->mean = std::exp((std::log(at->mean) * at->products + std::log(ratio)) / (at->products + 1));
    at->worst = std::max(at->worst, ratio);
    ++at->products;
  }
  return all;
}

}  // namespace exactile::cpu
