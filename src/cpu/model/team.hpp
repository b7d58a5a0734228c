// SPDX-License-Identifier: Apache-2.0
/// \file
/// What threads cost beside their shares of the work, and how many of them a product is worth. Times are data, as rates
/// are: rows of the family "team" in src/tuning/rows/cpu.tsv, which `exactile tune --backend cpu --costs` measures.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/checked.hpp"
#include "tuning/table/rows.hpp"

namespace exactile::cpu {

/// Seconds for a team of two, and how much longer each further thread makes it.
struct TimeOfTeam {
  double of_two = 0;
  double of_more = 0;

  [[nodiscard]] double operator()(int threads) const { return threads == 1 ? 0 : of_two + (threads - 2) * of_more; }
};

struct TeamTimes {
  TimeOfTeam start;    ///< of a team without work, whose threads still look for some
  TimeOfTeam wake;     ///< the same where they sleep
  TimeOfTeam meeting;  ///< until all have met
};

/// Measured on this processor: here, or what ships; else those for any.
[[nodiscard]] const TeamTimes& team_times();

/// Measures them with up to so many threads, at least two, for team_times() from then on; takes some tenths of a
/// second.
[[nodiscard]] tuning::Row measure_team(int threads);

/// How much longer a team takes than its share of so many equal parts: some have one more than others.
[[nodiscard]] inline double unevenness(std::int64_t parts, int threads) {
  if (parts == 0) return 1;
  return static_cast<double>(core::round_up(parts, std::int64_t{threads})) / static_cast<double>(parts);
}

/// Of so many threads, those that have a part.
[[nodiscard]] inline int members(std::int64_t parts, int most) {
  return static_cast<int>(std::clamp<std::int64_t>(parts, 1, most));
}

/// Whether the team's threads sleep when they are called is not known, and waking them takes longer than many products.
/// So a team's worth is the geometric mean of its times in both cases, by which neither loses more than the other wins.
/// `estimate(threads)` says how many of so many threads have work and what they take if none sleeps. It is called for
/// 1, 2, 4 ... and `most` threads, until more of them lose much.
template <class Estimate>
[[nodiscard]] auto best_team(int most, const Estimate& estimate) {
  const TeamTimes& times = team_times();
  const auto worth = [&](const auto& team) {
    const double sleep = std::max(0.0, times.wake(team.threads) - times.start(team.threads));
    return team.seconds * (team.seconds + sleep);
  };
  auto best = estimate(1);
  double least = worth(best);
  if (least <= times.start(2) * times.wake(2)) return best;  // even without any work of their own
  for (int threads = 1, before = 1; threads < most;) {
    threads = std::min(2 * threads, most);
    const auto team = estimate(threads);
    if (team.threads == before) break;  // there are no more parts
    before = team.threads;
    const double product = worth(team);
    if (product > 2 * least) break;
    if (product >= least) continue;
    best = team;
    least = product;
  }
  return best;
}

/// Of a product without rates, of so many cycles of an average core.
[[nodiscard]] int useful_threads(double cycles, std::int64_t parts, int most);

}  // namespace exactile::cpu
