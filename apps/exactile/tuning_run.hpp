// SPDX-License-Identifier: Apache-2.0
/// \file One search: a kernel, its types, a device and a class of shapes.
#pragma once

#include <string>

#include "exactile/plan.hpp"
#include "exactile/tuning.hpp"

namespace exactile::program {

struct TuningRequest {
  static constexpr std::int64_t as_many_as_time_allows = INT64_MAX;
  std::string kernel;
  GemmTypes types;
  std::string shape_class;
  std::string file;
  int device = 0;
  double seconds = 60;
  std::int64_t most_candidates = as_many_as_time_allows;
  std::uint64_t seed = 1;
};

struct TuningOutcome {
  std::string parameters;         ///< the best ones known, of earlier searches too; empty where nothing works
  double rate = 0;                ///< operations per second with them
  std::string parameters_before;  ///< what would have run without any search
  double before = 0;              ///< and its rate
  int tried = 0;                  ///< in this search
  int failed = 0;                 ///< of those: not built, refused by the device, or wrong
  int known = 0;                  ///< from earlier searches
  std::string refusal;            ///< why the kernel does no such products, whatever its parameters; empty if it does
};

/// Tries candidates until the time is over, the last of which may end later. Every one is verified before it is timed,
/// and filed as soon as it is done, so that an interruption loses nothing and the next search goes on from there. The
/// last seconds, where there are twenty or more, are for the best ones: they are timed again turn by turn, and filed
/// again.
[[nodiscard]] TuningOutcome run_tuning(const TuningRequest& request);

}  // namespace exactile::program
