// SPDX-License-Identifier: Apache-2.0
/// \file
/// What can be tuned in a kernel. `exactile tune` searches with it; GemmOptions::parameters sets values for one call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exactile/status.hpp"
#include "exactile/types.hpp"

namespace exactile {

/// A parameter and the values that are worth trying. Not every combination is legal: Plan::make() answers `unsupported`
/// and says why, before anything is compiled.
struct ParameterRange {
  std::string name = {};
  std::vector<std::int64_t> values = {};
};

/// A kernel's parameters for one pair of types on one device, and what a measurement of them is filed under.
struct TuningTarget {
  std::vector<ParameterRange> space = {};
  int version = 1;  ///< of the kernel: measurements of another version mean nothing
  std::string device = {};
  std::string driver = {};
  bool is_cpu = false;
};

/// Fails with unknown_name, invalid_argument, device_unavailable, or unsupported where there is nothing to tune.
[[nodiscard]] Result<TuningTarget> tuning_target(std::string_view kernel, GemmTypes types, int device = 0);

}  // namespace exactile
