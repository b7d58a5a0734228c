// SPDX-License-Identifier: Apache-2.0
#include "cpu/model/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "cpu/order_of_sums.hpp"
#include "tuning/table/descent.hpp"

namespace exactile::cpu {
namespace {

constexpr double least_overlap = 1e-3;
constexpr double negligible = 1e-6;  ///< share of the error: what follows takes minutes, and chooses no better

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
  const auto error = [&] {
    if (rates.overlap > 1) return std::numeric_limits<double>::infinity();
    double sum = 0;
    for (const Sample& sample : samples)
      sum += sample.weight * std::abs(std::log(seconds(sample.demand, rates) / sample.seconds));
    return sum;
  };
  tuning::descend(coefficients, error, negligible);
  return rates;
}

/// Coefficients that are not zero. `overlap` is a share.
std::vector<double*> coefficients_of(Rates& rates) {
  std::vector<double*> coefficients{&rates.overlap};
  for (double& seconds : rates.seconds)
    if (seconds != 0) coefficients.push_back(&seconds);
  return coefficients;
}

/// A product that is fitted to, its kernels' rates by their place in the fitted ones.
struct Race {
  struct Runner {
    std::size_t rates;
    const Demand* demand;
    double behind;  ///< how many times the fastest's time it takes
  };
  double fastest;
  std::vector<Runner> runners;
};

/// Among the kernels that compete on a machine that has `widest`, or is held to it.
Race race_of(const TimedProduct& product, Isa widest, const std::vector<FittedRates>& fitted) {
  Race race{std::numeric_limits<double>::infinity(), {}};
  for (const auto& kernel : product.kernels) {
    const auto found = std::ranges::find(fitted, kernel.key, &FittedRates::key);
    if (!kernel.competes || kernel.key.isa > widest || found == fitted.end()) continue;
    race.runners.push_back({static_cast<std::size_t>(found - fitted.begin()), &kernel.demand, kernel.seconds});
    race.fastest = std::min(race.fastest, kernel.seconds);
  }
  for (Race::Runner& runner : race.runners) runner.behind /= race.fastest;
  return race;
}

/// One of each product for each instruction set that would let more kernels in: where the widest wins all of its races,
/// they alone say nothing of the others. Of very many, some by lot.
std::vector<Race> races_of(const std::vector<TimedProduct>& products, const std::vector<FittedRates>& fitted) {
  std::vector<Race> races;
  for (const TimedProduct& product : products) {
    if (!product.is_fitted_to) continue;
    std::set<Isa> sets;
    for (const auto& kernel : product.kernels) sets.insert(kernel.key.isa);
    std::size_t runners = 1;
    for (const Isa widest : sets) {
      Race race = race_of(product, widest, fitted);
      if (race.runners.size() <= runners) continue;
      runners = race.runners.size();
      races.push_back(std::move(race));
    }
  }
  constexpr std::size_t enough = 2000;  // more take minutes, and choose no better
  if (races.size() > enough) {
    std::ranges::shuffle(races, std::minstd_rand());  // products and their races follow one another in patterns
    races.resize(enough);
  }
  return races;
}

/// How far estimates are from telling which kernel is the fastest: each is taken with a probability that falls with its
/// time so steeply that one 10 % slower than another is taken a third as often; the loss is the entropy of what is
/// taken by the measured times in the code of what is taken by the estimates. True estimates lose least, and what is
/// common to all kernels of a product, such as caches that were cold, matters little. Each estimate's own error counts
/// for a little, as choices on other products rest on them.
double loss_of(const Race& race, const std::vector<FittedRates>& fitted) {
  constexpr double share_of_errors = 0.5;
  const auto weight_of = [](double time) {
    const double fourth = 1 / (time * time * time * time);
    return fourth * fourth * fourth;
  };
  double all = 0;
  double all_measured = 0;
  double sum = 0;
  double errors = 0;
  for (const auto& [rates, demand, behind] : race.runners) {
    const double estimate = seconds(*demand, fitted[rates].rates) / race.fastest;
    const double measured = weight_of(behind);
    const double weight = weight_of(estimate);
    all += weight;
    all_measured += measured;
    sum -= measured * std::log(weight);
    errors += std::abs(std::log(estimate / behind)) / behind;
  }
  return std::log(all) + sum / all_measured + share_of_errors * errors;
}

/// From rates that estimate best to those that choose best.
void improve_choices(const std::vector<TimedProduct>& products, std::vector<FittedRates>& fitted) {
  const std::vector<Race> races = races_of(products, fitted);
  std::vector<double*> coefficients;
  for (FittedRates& one : fitted) std::ranges::copy(coefficients_of(one.rates), std::back_inserter(coefficients));
  const auto error = [&] {
    double sum = 0;
    for (const FittedRates& one : fitted)
      if (one.rates.overlap > 1) return std::numeric_limits<double>::infinity();
    for (const Race& race : races) sum += loss_of(race, fitted);
    return sum;
  };
  tuning::descend(coefficients, error, negligible);
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
  const auto any = [](const TimedProduct::Kernel&) { return true; };
  if (!product.sums_differ) return first_of(&TimedProduct::Kernel::demand, any);
  const TimedProduct::Kernel* alone = first_of(&TimedProduct::Kernel::alone, any);
  if (alone == nullptr) return nullptr;
  return first_of(&TimedProduct::Kernel::demand,
                  [&](const auto& kernel) { return order_of(kernel.key) == order_of(alone->key); });
}

}  // namespace

std::vector<FittedRates> fit(const std::vector<TimedProduct>& products) {
  constexpr std::size_t least_samples = 20;
  std::vector<FittedRates> fitted;
  for (const RatesKey& key : keys_of(products)) {
    const std::vector<Sample> samples = samples_of(key, products);
    if (samples.size() >= least_samples) fitted.push_back({key, fitted_to(samples, rates_of(key))});
  }
  improve_choices(products, fitted);
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
