// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one stopwatch of the program, the tuner and the benchmarks.
#pragma once

#include <cstdint>
#include <functional>

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
};

/// Times `run(i)`, i = 0, 1, 2, ...; the caller uses i to rotate operands out of the caches. Calls shorter than the
/// clock can resolve are timed in groups. `run` answers false to stop (an error, or an interruption).
[[nodiscard]] Timing time_calls(const std::function<bool(std::int64_t)>& run, const TimingLimits& limits = {});

}  // namespace exactile::measure
