// SPDX-License-Identifier: Apache-2.0
/// \file What `ladder` and its sweep share.
#pragma once

#include <string>
#include <string_view>

#include "exactile/devices.hpp"
#include "failure.hpp"
#include "options.hpp"

namespace exactile::program {

/// The base of every speed-up: the write-ups' plain loop on one core.
inline constexpr std::string_view base_kernel = "cpu_naive";

/// Calls that would take longer than this are timed on part of their rows.
inline constexpr double longest_ladder_call_seconds = 3;

struct LadderOptions {
  std::int64_t m = -1;
  std::int64_t k = -1;
  std::int64_t n = -1;
  std::string type = "f32";
  std::string fill = "normal";
  std::uint64_t seed = 1;
  ChoiceOptions choice;
  bool sweep = false;
  double largest = 1e10;  ///< of the sweep: m * k * n
  bool json = false;
  bool csv = false;
  bool markdown = false;
};

/// The options under which one kernel is measured: on its own device, and the processor's in host memory whatever
/// device the others were told to take.
[[nodiscard]] GemmOptions options_for(const ChoiceOptions& choice, const KernelInfo& kernel);

/// The table from m*k*n = 10^3 on: the plain loop against the planner's choice.
[[nodiscard]] Exit run_sweep(const LadderOptions& options);

}  // namespace exactile::program
