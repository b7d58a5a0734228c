// SPDX-License-Identifier: Apache-2.0
#include "measure/rounds.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <thread>

namespace exactile::measure {
namespace {

/// A call longer than this settles its own caches; shorter ones are led in by untimed calls.
constexpr double settles_below_seconds = 1e-3;

/// One series while it is timed.
class Runner {
 public:
  Runner(Series& series, const RoundLimits& limits) : series_(series), limits_(limits) {}

  /// Warms up and finds how many calls make one group.
  void warm_up() {
    const double least = std::max(limits_.warm_up_seconds, 3 * limits_.shortest_group_seconds);
    for (double spent = 0; spent < least;) {
      const double elapsed = series_.time(calls_);
      spent += elapsed;
      call_seconds_ = elapsed / static_cast<double>(calls_);
      if (elapsed < limits_.shortest_group_seconds) calls_ *= 2;
    }
  }

  /// One sample: one group, or as many as a turn takes once the clock has settled. Seconds of timed work.
  double take_turn(bool forward, double turn_seconds) {
    settle();
    double timed = series_.time(calls_);
    double groups = 1;
    for (; limits_.settling_seconds > 0 && timed < turn_seconds; ++groups) timed += series_.time(calls_);
    (forward ? series_.forward : series_.backward).push_back(timed / (groups * static_cast<double>(calls_)));
    return timed;
  }

 private:
  void settle() {
    for (double settled = 0; settled < limits_.settling_seconds;) settled += series_.time(calls_);
    if (limits_.settling_seconds == 0 && call_seconds_ < settles_below_seconds)
      series_.time(std::max<std::int64_t>(1, calls_ / 4));
  }

  Series& series_;
  const RoundLimits& limits_;
  std::int64_t calls_ = 1;
  double call_seconds_ = 0;
};

double one_round(std::vector<Runner>& runners, bool forward, const RoundLimits& limits) {
  const double turn_seconds = limits.seconds / limits.least_rounds;
  double timed = 0;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    timed += runners[forward ? i : runners.size() - 1 - i].take_turn(forward, turn_seconds);
    wait_until_idle(limits.longest_pause_seconds);
  }
  return timed;
}

std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& base) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(of.size(), base.size()); ++i) result.push_back(of[i] / base[i]);
  return result;
}

}  // namespace

void time_rounds(std::vector<Series>& all_series, const RoundLimits& limits) {
  std::vector<Runner> runners;
  runners.reserve(all_series.size());
  for (Series& series : all_series) runners.emplace_back(series, limits);
  for (Runner& runner : runners) runner.warm_up();
  const double enough = limits.seconds * static_cast<double>(all_series.size());
  double timed = 0;
  for (int round = 0; round < limits.most_rounds && (round < limits.least_rounds || timed < enough); ++round)
    timed += one_round(runners, round % 2 == 0, limits);
}

bool wait_until_idle(double longest_seconds) {
  constexpr double look_seconds = 0.005;
  constexpr double busy_share = 0.1;  // of one processor: more than asking costs, far less than a spinning thread
  const auto processor_seconds = [] {
    std::timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  };
  double before = processor_seconds();
  for (double waited = 0; waited < longest_seconds; waited += look_seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(look_seconds));
    const double now = processor_seconds();
    if (now - before < busy_share * look_seconds) return true;
    before = now;
  }
  return false;
}

double rough_seconds(const Series& series, const RoundLimits& limits) {
  constexpr double tellable = 0.1;
  series.time(1);
  for (std::int64_t calls = 1;; calls *= 2)
    if (const double elapsed = series.time(calls); elapsed >= tellable * limits.shortest_group_seconds)
      return elapsed / static_cast<double>(calls);
}

Summary summarize(const Series& series) {
  std::vector<double> all = series.forward;
  all.insert(all.end(), series.backward.begin(), series.backward.end());
  return summarize(std::move(all));
}

Ratio ratio_of(const Series& series, const Series& base) {
  std::vector<double> forward = ratios(series.forward, base.forward);
  const std::vector<double> backward = ratios(series.backward, base.backward);
  Ratio ratio{.forward = summarize(forward).median, .backward = summarize(backward).median};
  forward.insert(forward.end(), backward.begin(), backward.end());
  ratio.all = summarize(std::move(forward)).median;
  return ratio;
}

}  // namespace exactile::measure
