// SPDX-License-Identifier: Apache-2.0
#include "measure/stopwatch.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <utility>
#include <vector>

#include "measure/summary.hpp"

namespace exactile::measure {
namespace {

constexpr std::int64_t largest_group = 1 << 20;

double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// Some generated kernels leave the upper halves of the vector registers in use, which slows whatever SSE code runs
/// next: without this, one contender would pay for the one before it.
void clear_upper_registers() {
#if defined(__x86_64__)
  static const bool has_avx = __builtin_cpu_supports("avx") != 0;
  if (has_avx) __asm__ volatile("vzeroupper" ::: "memory");
#endif
}

using Group = std::function<std::optional<double>(std::int64_t, std::int64_t)>;

/// Counts the calls so that the caller sees 0, 1, 2, ... whatever the grouping.
class Caller {
 public:
  explicit Caller(const Group& group) : group_(group) {}

  [[nodiscard]] bool stopped() const { return stopped_; }

  /// Seconds that `count` calls took together; meaningless once stopped().
  double time_group(std::int64_t count) {
    const std::optional<double> seconds = group_(next_, count);
    next_ += count;
    stopped_ = !seconds;
    return seconds.value_or(0);
  }

 private:
  const Group& group_;
  std::int64_t next_ = 0;
  bool stopped_ = false;
};

/// Warms up and answers how many calls make one group.
std::int64_t warm_up(Caller& caller, double first_call_seconds, const TimingLimits& limits) {
  double spent = first_call_seconds;
  double call_seconds = first_call_seconds;
  std::int64_t group = 1;
  while (spent < limits.warm_up_seconds && !caller.stopped()) {
    const double elapsed = caller.time_group(group);
    call_seconds = elapsed / static_cast<double>(group);
    spent += elapsed;
    if (spent + 2 * elapsed < limits.warm_up_seconds) group = std::min(group * 2, largest_group);
  }
  if (call_seconds >= limits.shortest_group_seconds) return 1;
  const double calls = std::ceil(limits.shortest_group_seconds / std::max(call_seconds, 1e-10));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(calls), 1, largest_group);
}

}  // namespace

double seconds_of(const std::function<void()>& work) {
  clear_upper_registers();
  const double start = now();
  work();
  return now() - start;
}

double thread_seconds_of(const std::function<void()>& work) {
  const auto thread_now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  clear_upper_registers();
  const double start = thread_now();
  work();
  return thread_now() - start;
}

Timing time_calls(const std::function<bool(std::int64_t)>& run, const TimingLimits& limits) {
  return time_groups(
      [&](std::int64_t first, std::int64_t count) -> std::optional<double> {
        const double start = now();
        for (std::int64_t i = first; i < first + count; ++i)
          if (!run(i)) return std::nullopt;
        return now() - start;
      },
      limits);
}

Timing time_groups(const Group& group_of_calls, const TimingLimits& limits) {
  Timing timing;
  Caller caller(group_of_calls);
  timing.first_call_seconds = caller.time_group(1);
  if (caller.stopped()) return timing;

  const std::int64_t group = warm_up(caller, timing.first_call_seconds, limits);
  std::vector<double> seconds;
  double spent = 0;
  while (!caller.stopped() && timing.runs < std::max(limits.most_runs, 1)) {
    if (timing.runs >= limits.least_runs && spent >= limits.total_seconds) break;
    const double elapsed = caller.time_group(group);
    if (caller.stopped()) break;
    seconds.push_back(elapsed / static_cast<double>(group));
    spent += elapsed;
    ++timing.runs;
  }
  if (seconds.empty()) return timing;
  const Summary summary = summarize(std::move(seconds));
  timing.min_seconds = summary.min;
  timing.median_seconds = summary.median;
  timing.spread = summary.spread;
  return timing;
}

}  // namespace exactile::measure
