// SPDX-License-Identifier: Apache-2.0
/// \file
/// One product through every kernel that can do it, by name, through the public calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comparison/contender.hpp"
#include "exactile/context.hpp"
#include "measure/rounds.hpp"

namespace exactile::bench {

using comparison::Product;

struct RaceOptions {
  Backend backend = Backend::cpu;
  const Context* context = nullptr;  ///< where the operands lie; null is host memory
  int threads = 1;
  std::int64_t rotate_bytes = 0;  ///< operands rotate through more than so much memory
  Planning planning = Planning::estimate;
  bool configurations = false;    ///< each configuration of a kernel is timed, not only the one that its plan takes
  double keep = 1.5;              ///< kernels that a rough timing finds slower than the fastest by more drop out
  std::vector<std::string> skip;  ///< kernels left out unless they are chosen
  measure::RoundLimits limits;
};

struct KernelTime {
  std::string kernel = {};
  std::string parameters = {};  ///< of a configuration that was pinned
  bool chosen = false;
  double estimate = 0;  ///< the planner's, in seconds
  double seconds = 0;   ///< the median; of one call where it dropped out
  double spread = 0;    ///< interquartile range over the median; 0 where it dropped out
  double again = 0;     ///< the second timing that the best and the chosen get, apart from the others; 0 for the rest
  double planning = 0;  ///< seconds that the plan of the chosen one took
};

/// The planner's choice and every kernel by name. All are timed in interleaved rounds; then the chosen and the best
/// against each other once more, so that the best is not whoever was luckiest. Empty where no kernel takes the product.
/// Throws std::runtime_error.
[[nodiscard]] std::vector<KernelTime> race(const Product& product, const RaceOptions& options);

/// Time of the choice over the time of the best, both of the second timing; 1 where the choice was faster in it.
[[nodiscard]] double regret(const std::vector<KernelTime>& times);

}  // namespace exactile::bench
