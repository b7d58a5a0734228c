// SPDX-License-Identifier: Apache-2.0
#include "measure/rounds.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

namespace exactile::measure {
namespace {

/// A call longer than this settles its own caches; shorter ones are led in by untimed calls.
constexpr double lead_in_below_seconds = 1e-3;

/// One lane while it is timed.
class Runner {
 public:
  Runner(Lane& lane, const RoundLimits& limits) : lane_(lane), limits_(limits) {}

  /// Warms up and finds how many calls make one group.
  void warm_up() {
    const double least = std::max(limits_.warm_up_seconds, 3 * limits_.shortest_group_seconds);
    for (double spent = 0; spent < least;) {
      const double elapsed = lane_.time(calls_);
      spent += elapsed;
      call_seconds_ = elapsed / static_cast<double>(calls_);
      if (elapsed < limits_.shortest_group_seconds) calls_ *= 2;
    }
  }

  /// One sample: one group, or as many as a turn takes once the clock has settled. Seconds of timed work.
  double take_turn(bool forward, double turn_seconds) {
    lead_in();
    double timed = lane_.time(calls_);
    double groups = 1;
    for (; limits_.lead_in_seconds > 0 && timed < turn_seconds; ++groups) timed += lane_.time(calls_);
    (forward ? lane_.forward : lane_.backward).push_back(timed / (groups * static_cast<double>(calls_)));
    return timed;
  }

 private:
  void lead_in() {
    for (double led_in = 0; led_in < limits_.lead_in_seconds;) led_in += lane_.time(calls_);
    if (limits_.lead_in_seconds == 0 && call_seconds_ < lead_in_below_seconds)
      lane_.time(std::max<std::int64_t>(1, calls_ / 4));
  }

  Lane& lane_;
  const RoundLimits& limits_;
  std::int64_t calls_ = 1;
  double call_seconds_ = 0;
};

double one_round(std::vector<Runner>& runners, bool forward, const RoundLimits& limits) {
  const double turn_seconds = limits.seconds / limits.least_rounds;
  double timed = 0;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    timed += runners[forward ? i : runners.size() - 1 - i].take_turn(forward, turn_seconds);
    if (limits.pause_seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(limits.pause_seconds));
  }
  return timed;
}

std::vector<double> ratios(const std::vector<double>& of, const std::vector<double>& base) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(of.size(), base.size()); ++i) result.push_back(of[i] / base[i]);
  return result;
}

}  // namespace

void time_rounds(std::vector<Lane>& lanes, const RoundLimits& limits) {
  std::vector<Runner> runners;
  runners.reserve(lanes.size());
  for (Lane& lane : lanes) runners.emplace_back(lane, limits);
  for (Runner& runner : runners) runner.warm_up();
  const double enough = limits.seconds * static_cast<double>(lanes.size());
  double timed = 0;
  for (int round = 0; round < limits.most_rounds && (round < limits.least_rounds || timed < enough); ++round)
    timed += one_round(runners, round % 2 == 0, limits);
}

double rough_seconds(const Lane& lane, const RoundLimits& limits) {
  constexpr double tellable = 0.1;
  lane.time(1);
  for (std::int64_t calls = 1;; calls *= 2)
    if (const double elapsed = lane.time(calls); elapsed >= tellable * limits.shortest_group_seconds)
      return elapsed / static_cast<double>(calls);
}

Summary summarize(const Lane& lane) {
  std::vector<double> all = lane.forward;
  all.insert(all.end(), lane.backward.begin(), lane.backward.end());
  return summarize(std::move(all));
}

Ratio ratio_of(const Lane& lane, const Lane& base) {
  std::vector<double> forward = ratios(lane.forward, base.forward);
  const std::vector<double> backward = ratios(lane.backward, base.backward);
  Ratio ratio{.forward = summarize(forward).median, .backward = summarize(backward).median};
  forward.insert(forward.end(), backward.begin(), backward.end());
  ratio.all = summarize(std::move(forward)).median;
  return ratio;
}

}  // namespace exactile::measure
