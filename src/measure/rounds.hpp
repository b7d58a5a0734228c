// SPDX-License-Identifier: Apache-2.0
/// \file
/// Several contenders timed turn by turn in one program, so that whatever slows the machine slows all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "measure/summary.hpp"

namespace exactile::measure {

struct RoundLimits {
  double seconds = 0.5;  ///< of timed work for each series
  double warm_up_seconds = 0.03;
  int least_rounds = 6;
  int most_rounds = 2000;
  /// Calls are timed in groups at least this long: reading the clock costs some tens of nanoseconds, and a device's
  /// queue runs dry for some microseconds at either end.
  double shortest_group_seconds = 60e-6;
  /// Of its own calls before each sample: long enough for a GPU's clock to settle where that contender's power leaves
  /// it. 0 is as long as the processor's caches take.
  double settling_seconds = 0;
  /// Threaded libraries leave workers spinning after a call (OpenBLAS's for 0.1 s, Intel's OpenMP for 0.2 s), which
  /// would slow the next contender. The process is left alone after each sample until it uses no processor, at most
  /// this long.
  double longest_pause_seconds = 0;
};

/// One contender and its samples: seconds for one call, one sample a round. Every other round runs the other way round.
struct Series {
  std::function<double(std::int64_t calls)> time;  ///< seconds that so many calls take together
  std::vector<double> forward = {};                ///< from rounds that ran as listed
  std::vector<double> backward = {};               ///< from rounds that ran the other way round
};

/// Warms every series up, then takes rounds. What a series throws goes on to the caller.
void time_rounds(std::vector<Series>& all_series, const RoundLimits& limits);
/// Sleeps until no thread of this process is at work, at most so long; whether none is.
bool wait_until_idle(double longest_seconds);
/// Seconds of one call, after one that is not timed: to tell who is out of the running.
[[nodiscard]] double rough_seconds(const Series& series, const RoundLimits& limits);

/// Of the samples of both orders.
[[nodiscard]] Summary summarize(const Series& series);

/// Time of `series` over time of `base`: the median of the ratios within each round. By order: of the rounds that ran
/// as listed, and of the others; a difference between the two that exceeds the spread says that the run was disturbed.
struct Ratio {
  double all = 0;
  double forward = 0;
  double backward = 0;
};
[[nodiscard]] Ratio ratio_of(const Series& series, const Series& base);

}  // namespace exactile::measure
