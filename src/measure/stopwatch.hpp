// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one stopwatch of the program, the tuner and the benchmarks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace exactile::measure {

struct Timing {
  double first_call_seconds = 0;
  double median_seconds = 0;
  double min_seconds = 0;
  double spread = 0;  ///< interquartile range over the median
  int runs = 0;
};

struct TimingLimits {
  double warm_up_seconds = 0.05;
  double total_seconds = 1.0;  ///< stop after this much, once `least_runs` are done
  int least_runs = 5;
  int most_runs = 1000;
  /// Calls are timed in groups at least this long: reading the clock costs some tens of nanoseconds, starting and
  /// stopping a device's some microseconds.
  double shortest_group_seconds = 50e-6;
};

/// Seconds of one piece of work by the host's clock.
[[nodiscard]] double seconds_of(const std::function<void()>& work);
/// The same by the calling thread's own clock, which stands while other processes have the core; waiting counts not.
[[nodiscard]] double thread_seconds_of(const std::function<void()>& work);

/// Times `run(i)`, i = 0, 1, 2, ...; the caller uses i to rotate operands out of the caches. Calls shorter than the
/// clock can resolve are timed in groups. `run` answers false to stop (an error, or an interruption).
[[nodiscard]] Timing time_calls(const std::function<bool(std::int64_t)>& run, const TimingLimits& limits = {});

/// The same by another clock, a device's: `group(first, count)` does the calls first, first + 1, ... and answers the
/// seconds they took together, or nothing to stop.
[[nodiscard]] Timing time_groups(const std::function<std::optional<double>(std::int64_t, std::int64_t)>& group,
                                 const TimingLimits& limits = {});

}  // namespace exactile::measure
