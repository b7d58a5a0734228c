// SPDX-License-Identifier: Apache-2.0
#include "rounds.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>

namespace exactile::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Reading the clock costs some tens of nanoseconds: in a group this long that is less than a thousandth.
constexpr double shortest_group_seconds = 60e-6;
/// Calls on a device are enqueued one behind the other; its queue runs dry for some microseconds at either end.
constexpr double shortest_device_group_seconds = 10e-3;
/// A call longer than this settles its own caches; shorter ones are led in by untimed calls.
constexpr double lead_in_below_seconds = 1e-3;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Some generated kernels leave the upper halves of the vector registers in use, which slows whatever SSE code runs
/// next: without this, one contender would pay for the one before it.
void clear_upper_registers() {
#if defined(__x86_64__)
  static const bool has_avx = __builtin_cpu_supports("avx") != 0;
  if (has_avx) __asm__ volatile("vzeroupper" ::: "memory");
#endif
}

/// Runs one lane's calls and remembers which set of operands comes next.
class Runner {
 public:
  /// Begins with set `first_set`.
  Runner(Lane& lane, const RoundLimits& limits, std::int64_t first_set = 0)
      : lane_(lane),
        lead_in_seconds_(limits.lead_in_seconds),
        warm_up_seconds_(limits.warm_up_seconds),
        next_set_(first_set) {}

  /// Warms up and finds how many calls make one sample.
  void warm_up() {
    const bool on_device = lane_.sets->context() != nullptr;
    const double group_seconds = on_device ? shortest_device_group_seconds : shortest_group_seconds;
    double spent = 0;
    do {
      const double elapsed = time(calls_);
      spent += elapsed;
      call_seconds_ = elapsed / static_cast<double>(calls_);
      if (elapsed < group_seconds) calls_ *= 2;
    } while (spent < std::max(warm_up_seconds_, 3 * group_seconds));
  }

  /// Seconds of timed work: one sample, or as many as a turn takes once the clock has settled.
  double take_turn(bool forward, double turn_seconds) {
    lead_in();
    double timed = sample(forward);
    while (lead_in_seconds_ > 0 && timed < turn_seconds) timed += sample(forward);
    return timed;
  }

  /// Of a call, in groups that grow until the clock tells them from nothing.
  double rough_seconds() {
    constexpr double tellable = 0.1;
    const bool on_device = lane_.sets->context() != nullptr;
    const double enough = tellable * (on_device ? shortest_device_group_seconds : shortest_group_seconds);
    time(1);
    for (;; calls_ *= 2)
      if (const double elapsed = time(calls_); elapsed >= enough) return elapsed / static_cast<double>(calls_);
  }

 private:
  void lead_in() {
    for (double led_in = 0; led_in < lead_in_seconds_;) led_in += time(calls_);
    if (lead_in_seconds_ == 0 && call_seconds_ < lead_in_below_seconds) time(std::max<std::int64_t>(1, calls_ / 4));
  }

  double sample(bool forward) {
    const double elapsed = time(calls_);
    (forward ? lane_.forward : lane_.backward).push_back(elapsed / static_cast<double>(calls_));
    return elapsed;
  }

  double time(std::int64_t calls) {
    if (const Context* device = lane_.sets->context()) {
      const Result<double> seconds = device->time([&] {
        run(calls);
        return Status();
      });
      if (!seconds.ok()) throw std::runtime_error(std::string(seconds.status().message()));
      return seconds.value();
    }
    clear_upper_registers();
    const Clock::time_point start = Clock::now();
    run(calls);
    return seconds_since(start);
  }

  void run(std::int64_t calls) {
    const std::int64_t sets = lane_.sets->count();
    if (sets == 1) return lane_.call->run(lane_.sets->at(0), {}, calls);
    while (calls > 0) {
      const std::int64_t now = std::min(calls, sets - next_set_);
      lane_.call->run(lane_.sets->at(next_set_), lane_.sets->strides(), now);
      next_set_ = (next_set_ + now) % sets;
      calls -= now;
    }
  }

  Lane& lane_;
  double lead_in_seconds_;
  double warm_up_seconds_;
  std::int64_t next_set_;
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

/// The value at fraction `f` of a sorted, non-empty list, interpolated between neighbours.
double quantile(const std::vector<double>& sorted, double f) {
  const double place = f * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace

void time_rounds(std::vector<Lane>& lanes, const RoundLimits& limits) {
  std::vector<Runner> runners;
  runners.reserve(lanes.size());
  // Far apart among the sets: who reads what another has just read finds it in a cache.
  const auto lane_count = static_cast<std::int64_t>(lanes.size());
  for (std::int64_t i = 0; i < lane_count; ++i) {
    Lane& lane = lanes[static_cast<std::size_t>(i)];
    runners.emplace_back(lane, limits, lane.sets->count() * i / lane_count);
  }
  for (Runner& runner : runners) runner.warm_up();
  const double enough = limits.seconds * static_cast<double>(lanes.size());
  double timed = 0;
  for (int round = 0; round < limits.most_rounds && (round < limits.least_rounds || timed < enough); ++round) {
    const bool forward = limits.order == Order::both ? round % 2 == 0 : limits.order == Order::forward;
    timed += one_round(runners, forward, limits);
  }
}

double rough_seconds(Lane& lane) { return Runner(lane, {}).rough_seconds(); }

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const double median = quantile(samples, 0.5);
  return {median, samples.front(), (quantile(samples, 0.75) - quantile(samples, 0.25)) / median};
}

Summary summarize(const Lane& lane) {
  std::vector<double> all = lane.forward;
  all.insert(all.end(), lane.backward.begin(), lane.backward.end());
  return summarize(std::move(all));
}

}  // namespace exactile::bench
