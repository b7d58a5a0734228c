// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "plan/product_text.hpp"
#include "plan/scratch_operands.hpp"
#include "plan/select.hpp"
#include "tuning/table/table.hpp"

namespace exactile::plan {
namespace {

constexpr std::size_t least_ways = 3, most_ways = 6;
constexpr int rounds = 4;               ///< of timings; one of products that are as long as one
constexpr double least_timing = 25e-5;  ///< seconds: so much of each way's calls is timed in a round
/// Seconds beside ten calls: for all of planning, and so long at least and at most for loading and timing ways. Ways
/// that would be timed later are left out, but the first ones. A kernel's first call loads it, for milliseconds.
constexpr double most_planning = 0.018, least_for_ways = 0.009, most_for_ways = 0.014;
constexpr double worth_a_try = 4;       ///< times the cheapest estimate: no estimate is further off
constexpr double worth_more_tries = 2;  ///< and few are as far off as that
/// Copies of the operands have so many bytes together that no cache of a GPU holds them all (but for small operands, of
/// which there are 512 copies): as for programs that do other things between products. Filling as much of the host's
/// memory would take too long.
constexpr double cold_bytes = 192e6;

using Time = std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>>;

/// A way that is being timed.
struct Contender {
  const KernelEntry* kernel;
  std::string parameters;
  std::unique_ptr<Executable> executable;
  std::int64_t calls = 1;  ///< in a timing
  double seconds = std::numeric_limits<double>::infinity();
};

const BackendEntry& backend_of(std::span<const BackendEntry* const> backends, const KernelEntry& kernel) {
  return **std::ranges::find(backends, kernel.backend, &BackendEntry::backend);
}

/// Runs products on operands of nobody's, on the host's clock or the device's.
class Clock {
 public:
  Clock(ScratchOperands& operands, DeviceContext* context) : operands_(operands), context_(context) {}

  /// Seconds of one call.
  [[nodiscard]] Result<double> time(const Executable& product, std::int64_t calls) const {
    const auto run = [&]() -> Status {
      for (std::int64_t i = 0; i < calls; ++i)
        if (Status s = product.run(operands_.next(), context_ ? context_->execution() : Execution()); !s.ok()) return s;
      return {};
    };
    if (context_ != nullptr) {
      const Result<double> seconds = context_->time(run);
      return seconds.ok() ? Result<double>(seconds.value() / static_cast<double>(calls)) : seconds;
    }
    const auto begin = std::chrono::steady_clock::now();
    if (Status s = run(); !s.ok()) return s;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / static_cast<double>(calls);
  }

 private:
  ScratchOperands& operands_;
  DeviceContext* context_;
};

/// The first call compiles, allocates and fills caches; the second says how many make a timing.
bool warm_up(Contender& c, const Clock& clock) {
  constexpr double most_calls = 1e4;
  if (!clock.time(*c.executable, 1).ok()) return false;
  const Result<double> once = clock.time(*c.executable, 1);
  if (!once.ok()) return false;
  c.seconds = once.value();
  c.calls = static_cast<std::int64_t>(std::clamp(least_timing / std::max(c.seconds, 1e-9), 1.0, most_calls));
  return true;
}

/// Keeps those that run, the first ones whatever they take, others as long as `until` leaves time to race them.
void warm_up(std::vector<Contender>& contenders, const Clock& clock, Time until) {
  std::vector<Contender> kept;
  for (Contender& c : contenders) {
    const std::chrono::duration<double> of_race(static_cast<double>(kept.size() + 1) * rounds * least_timing);
    if (kept.size() >= least_ways && Time::clock::now() + of_race > until) break;
    if (warm_up(c, clock)) kept.push_back(std::move(c));
  }
  contenders = std::move(kept);
}

/// Times them in turn, so that what disturbs one disturbs all; the least counts, since what disturbs takes time.
void race(std::vector<Contender>& contenders, const Clock& clock) {
  for (int round = 0; round < rounds; ++round)
    for (Contender& c : contenders) {
      if (round > 0 && c.calls == 1) continue;
      const Result<double> seconds = clock.time(*c.executable, c.calls);
      if (!seconds.ok()) continue;
      const bool replaces_warm_up = round == 0 && c.calls > 1;
      c.seconds = replaces_warm_up ? seconds.value() : std::min(c.seconds, seconds.value());
    }
}

/// The first ones, and of the others those that are near; together they take no longer to measure than ten calls of the
/// first and some milliseconds.
void keep_what_is_worth_it(std::vector<Way>& ways) {
  constexpr double calls = 3;  // of a way, at least
  const double first = ways.front().offer.seconds;
  double left = 10 * first + (most_ways + 1) * rounds * least_timing;
  std::vector<Way> kept;
  for (Way& way : ways) {
    const double seconds = way.offer.seconds;
    const double to_measure = calls * seconds + rounds * least_timing;
    const bool is_more = kept.size() >= least_ways;
    if (seconds > (is_more ? worth_more_tries : worth_a_try) * first || (is_more && to_measure > left)) continue;
    left -= to_measure;
    kept.push_back(std::move(way));
  }
  ways = std::move(kept);
}

}  // namespace

std::optional<Choice> measured_choice(std::span<const BackendEntry* const> backends, const Problem& problem,
                                      const GemmOptions& options) {
  const Time begin = Time::clock::now();
  std::vector<Way> ways = cheapest_ways(backends, problem, options, most_ways);
  if (ways.empty()) return std::nullopt;
  const double ten_calls = 10 * ways.front().offer.seconds;
  keep_what_is_worth_it(ways);
  const BackendEntry& backend = backend_of(backends, *ways.front().kernel);
  std::unique_ptr<DeviceContext> context;
  if (problem.memory == Memory::device) {
    auto opened = backend.open(problem.device);
    if (!opened.ok()) return std::nullopt;
    context = std::move(opened).value();
  }
  const auto operands =
      ScratchOperands::make(problem, context.get(), context != nullptr && backend.has_addresses ? cold_bytes : 0);
  if (!operands.ok()) return std::nullopt;
  std::vector<Contender> contenders;
  for (const Way& way : ways) {
    Problem pinned = problem;
    pinned.parameters = way.offer.parameters;
    contenders.push_back({way.kernel, way.offer.parameters, way.kernel->prepare(pinned)});
  }
  const Clock clock(*operands.value(), context.get());
  const Time now = Time::clock::now();
  const double for_ways =
      std::clamp(most_planning - std::chrono::duration<double>(now - begin).count(), least_for_ways, most_for_ways);
  warm_up(contenders, clock, now + std::chrono::duration<double>(for_ways + ten_calls));
  race(contenders, clock);
  if (contenders.empty()) return std::nullopt;
  const Contender& best = *std::ranges::min_element(contenders, {}, &Contender::seconds);
  const GemmDescription& d = problem.description;
  const double rate =
      operation_count(d.types, d.m, d.n, d.k) * static_cast<double>(d.batch_count) / std::max(best.seconds, 1e-12);
  std::string why = fmt::format("measured: {:.3g} GFLOP/s, the fastest of {}", rate * 1e-9, contenders.size());
  if (const std::string file = tuning::user_file(); !file.empty()) {
    const Status kept =
        tuning::add_row(file, {.key = {.kernel = std::string(best.kernel->name),
                                       .types = to_string(d.types),
                                       .shape_class = product_text(problem),
                                       .device = device_name(backend_of(backends, *best.kernel), problem.device),
                                       .driver = "any"},
                               .parameters = tuning::Parameters::parse(best.parameters).value_or(tuning::Parameters()),
                               .rate = rate});
    if (!kept.ok()) why += fmt::format("; not kept: {}", kept.message());
  }
  return Choice{best.kernel, best.parameters, std::move(why)};
}

}  // namespace exactile::plan
