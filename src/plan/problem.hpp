// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exactile/plan.hpp"

namespace exactile::plan {

/// The description as kernels are asked about it: the matrix that is written is C (what lies in the caller's C has been
/// copied there before a kernel runs), and real operands are not conjugated.
[[nodiscard]] inline GemmDescription settled(GemmDescription description) {
  if (description.d) description.c = *description.d;
  description.d.reset();
  if (!is_complex(description.types.input)) description.a.conjugate = description.b.conjugate = false;
  return description;
}

/// What the planner plans for: a validated, settled description (sizes may be zero), and what was asked of it. Plain
/// data.
struct Problem {
  GemmDescription description;
  Accuracy accuracy = Accuracy::standard;
  int threads = 1;             ///< upper limit, settled
  bool is_team_fixed = false;  ///< kernels with rates take exactly `threads`, as far as they have parts: for measuring
  Memory memory = Memory::host;
  int device = 0;
  Planning planning = Planning::estimate;
  std::string parameters = {};  ///< a tunable kernel's, as asked for
  bool reproducible = false;
};

}  // namespace exactile::plan
