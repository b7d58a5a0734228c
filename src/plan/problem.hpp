// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exactile/plan.hpp"

namespace exactile::plan {

/// What the planner plans for: a validated description (sizes may be zero), and what was asked of it. Plain data.
struct Problem {
  GemmDescription description;
  Accuracy accuracy = Accuracy::standard;
  int threads = 1;  ///< upper limit, settled
  Memory memory = Memory::host;
  int device = 0;
  std::string parameters = {};  ///< a tunable kernel's, as asked for
};

}  // namespace exactile::plan
