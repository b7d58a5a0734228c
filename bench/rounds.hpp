// SPDX-License-Identifier: Apache-2.0
/// \file
/// Several calls timed turn by turn in one program, so that whatever slows the machine slows all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operands.hpp"
#include "rivals/contender.hpp"

namespace exactile::bench {

enum class Order : std::uint8_t {
  forward,   ///< as listed: exactile first
  backward,  ///< the other way round
  both,      ///< the two in turn
};

struct RoundLimits {
  double seconds = 0.5;  ///< of timed work for each lane
  double warm_up_seconds = 0.03;
  int least_rounds = 6;
  int most_rounds = 2000;
  Order order = Order::both;
  /// Of its own calls before each sample: long enough for a GPU's clock to settle where that contender's power leaves
  /// it. 0 is as long as the processor's caches take.
  double lead_in_seconds = 0;
  /// Threaded libraries leave workers spinning after a call; this long after each, they sleep.
  double pause_seconds = 0;
};

/// One call and its samples: seconds for one call, one sample a round.
struct Lane {
  const Call* call = nullptr;
  const OperandSets* sets = nullptr;
  std::vector<double> forward;   ///< from rounds that ran as listed
  std::vector<double> backward;  ///< from rounds that ran the other way round
};

void time_rounds(std::vector<Lane>& lanes, const RoundLimits& limits);
/// Seconds of one call, after one that is not timed: to tell who is out of the running.
[[nodiscard]] double rough_seconds(Lane& lane);

struct Summary {
  double median_seconds = 0;
  double min_seconds = 0;
  double spread = 0;  ///< interquartile range over the median
};
[[nodiscard]] Summary summarize(std::vector<double> samples);
[[nodiscard]] Summary summarize(const Lane& lane);

}  // namespace exactile::bench
