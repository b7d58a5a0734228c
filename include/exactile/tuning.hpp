// SPDX-License-Identifier: Apache-2.0
/// \file
/// What can be tuned in a kernel. `exactile tune` searches with it; GemmOptions::parameters sets values for one call.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exactile/backend.hpp"
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
  /// What the kernel is compiled for, each as parameters that pin it ("BM=128 BN=256 ..."); empty where it is compiled
  /// when it first runs, or is one.
  std::vector<std::string> configurations = {};
  int version = 1;  ///< of the kernel: measurements of another version mean nothing
  std::string device = {};
  std::string driver = {};
  bool is_cpu = false;
};

/// Fails with unknown_name, invalid_argument, device_unavailable, or unsupported where there is nothing to tune.
[[nodiscard]] Result<TuningTarget> tuning_target(std::string_view kernel, GemmTypes types, int device = 0);

/// What measure_device() is to do.
struct Measuring {
  int device = 0;
  double seconds = 600;    ///< about how long; what is begun is finished
  std::uint64_t seed = 1;  ///< of the products that are drawn
  std::string file = {};   ///< where rows are kept; "": where plans look for them. Rows that it has already count too
  /// Told the share of the time that is over, after each product; false ends the measuring.
  std::function<bool(double)> goes_on = [](double) { return true; };
};

/// How near the choices for a pair of types are to the fastest, for measured products left out one at a time.
struct ChoiceQuality {
  GemmTypes types = {};
  int products = 0;
  double mean = 1;  ///< geometric, of the time of the choice over that of the fastest configuration
  double worst = 1;
};

struct Measurements {
  std::string file = {};
  std::vector<ChoiceQuality> choices = {};
};

/// Times all configurations of a backend's kernels on products drawn by lot, fits the coefficients of its cost model to
/// them, and keeps both in a file that processes started later read. The file is replaced as a whole each time a
/// pair of types is done, so an interruption loses little, and the next call goes on with what is there. Nothing else
/// should run on the device. Fails with unsupported where a backend has no such model,
/// device_unavailable, device_failure, out_of_memory, or invalid_argument where the file cannot be written.
[[nodiscard]] Result<Measurements> measure_device(Backend backend, const Measuring& measuring);

}  // namespace exactile
