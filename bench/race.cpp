// SPDX-License-Identifier: Apache-2.0
#include "race.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "comparison/ours.hpp"
#include "comparison/timed.hpp"
#include "exactile/plan.hpp"
#include "exactile/tuning.hpp"

namespace exactile::bench {
namespace {

using comparison::Call;
using comparison::OperandSets;
using measure::RoundLimits;
using measure::Series;
using measure::Summary;

[[noreturn]] void fail(const Status& status) { throw std::runtime_error("exactile: " + std::string(status.message())); }

GemmOptions plan_options(const Product& product, const RaceOptions& options) {
  GemmOptions asked{.backend = options.backend, .accuracy = product.accuracy, .threads = options.threads};
  asked.planning = options.planning;
  if (options.context == nullptr) return asked;
  asked.memory = Memory::device;
  asked.device = options.context->device();
  return asked;
}

struct Runner {
  KernelTime time;
  std::unique_ptr<Call> call;
  double rough = 0;
};

std::unique_ptr<Call> call_of(Plan plan, const RaceOptions& options) {
  const Execution on = options.context != nullptr ? options.context->execution() : Execution{};
  return comparison::make_call([plan = std::move(plan), on](const void* a, const void* b, void* c) {
    if (const Status status = plan.run({.a = a, .b = b, .c = c}, on); !status.ok()) fail(status);
  });
}

/// None where it refuses the product.
std::unique_ptr<Call> pinned_call(const Product& product, const RaceOptions& options, const std::string& kernel,
                                  const std::string& parameters) {
  GemmOptions asked = plan_options(product, options);
  asked.kernel = kernel;
  asked.parameters = parameters;
  asked.planning = Planning::estimate;
  Result<Plan> plan = Plan::make(comparison::description_of(product), asked);
  if (plan.status().code() == StatusCode::unsupported) return nullptr;
  if (!plan.ok()) fail(plan.status());
  return call_of(std::move(plan).value(), options);
}

/// What a kernel is pinned to, turn by turn; "" is its own choice.
std::vector<std::string> parameters_of(const std::string& kernel, GemmTypes types, const RaceOptions& options) {
  if (options.configurations)
    if (Result<TuningTarget> target = tuning_target(kernel, types);
        target.ok() && !target.value().configurations.empty())
      return std::move(target).value().configurations;
  return {""};
}

/// The chosen one first.
std::vector<Runner> runners_of(const Product& product, const RaceOptions& options) {
  const GemmDescription description = comparison::description_of(product);
  const auto begin = std::chrono::steady_clock::now();
  Result<Plan> plan = Plan::make(description, plan_options(product, options));
  const std::chrono::duration<double> planning = std::chrono::steady_clock::now() - begin;
  if (plan.status().code() == StatusCode::unsupported) return {};
  if (!plan.ok()) fail(plan.status());
  std::vector<Runner> runners(1);
  for (const Candidate& candidate : plan.value().summary().candidates) {
    const double estimate = candidate.cost_seconds;
    if (candidate.chosen) runners[0].time = {.kernel = candidate.kernel, .chosen = true, .estimate = estimate};
    if (!candidate.supported || std::ranges::find(options.skip, candidate.kernel) != options.skip.end()) continue;
    for (const std::string& parameters : parameters_of(candidate.kernel, description.types, options))
      if (std::unique_ptr<Call> call; !(candidate.chosen && parameters.empty()) &&
                                      (call = pinned_call(product, options, candidate.kernel, parameters)) != nullptr)
        runners.push_back({.time = {.kernel = candidate.kernel,
                                    .parameters = parameters,
                                    .estimate = parameters.empty() ? estimate : 0},
                           .call = std::move(call)});
  }
  runners[0].time.planning = planning.count();
  runners[0].call = call_of(std::move(plan).value(), options);
  return runners;
}

/// Interleaved rounds of some runners; visit(runner, summary) takes what came of each.
template <class Visit>
void time_together(const std::vector<Runner*>& runners, const OperandSets& sets, const RoundLimits& limits,
                   const Visit& visit) {
  std::vector<Series> all_series;
  for (const Runner* runner : runners)
    all_series.push_back(
        comparison::series_of(*runner->call, sets, sets.count() * std::ssize(all_series) / std::ssize(runners)));
  time_rounds(all_series, limits);
  for (std::size_t i = 0; i < all_series.size(); ++i) visit(*runners[i], summarize(all_series[i]));
}

}  // namespace

std::vector<KernelTime> race(const Product& product, const RaceOptions& options) {
  std::vector<Runner> runners = runners_of(product, options);
  const OperandSets sets(product, set_count(product, options.context, options.rotate_bytes), options.context);
  RoundLimits limits = options.limits;
  limits.shortest_group_seconds = comparison::shortest_group_seconds(options.context, limits.seconds);
  double fastest = std::numeric_limits<double>::infinity();
  for (Runner& runner : runners) {
    runner.time.seconds = runner.rough = rough_seconds(comparison::series_of(*runner.call, sets), limits);
    fastest = std::min(fastest, runner.rough);
  }
  std::vector<Runner*> field;
  for (Runner& runner : runners)
    if (runner.time.chosen || runner.rough <= options.keep * fastest) field.push_back(&runner);
  if (field.empty()) return {};
  time_together(field, sets, limits, [](Runner& runner, const Summary& summary) {
    runner.time.seconds = summary.median;
    runner.time.spread = summary.spread;
  });
  const auto quicker = [](const Runner* a, const Runner* b) { return a->time.seconds < b->time.seconds; };
  Runner* const best = *std::ranges::min_element(field, quicker);
  std::erase_if(field, [&](const Runner* runner) { return runner != best && !runner->time.chosen; });
  time_together(field, sets, limits,
                [](Runner& runner, const Summary& summary) { runner.time.again = summary.median; });
  std::vector<KernelTime> times;
  for (Runner& runner : runners) times.push_back(std::move(runner.time));
  return times;
}

double regret(const std::vector<KernelTime>& times) {
  double chosen = 0;
  double best = std::numeric_limits<double>::infinity();
  for (const KernelTime& time : times) {
    if (time.again == 0) continue;
    if (time.chosen)
      chosen = time.again;
    else
      best = time.again;
  }
  return std::max(1.0, chosen / best);
}

}  // namespace exactile::bench
