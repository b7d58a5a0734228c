// SPDX-License-Identifier: Apache-2.0
/// \file
/// What there is to compute with: devices, kernels, and how fast the arithmetic of a device can go.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exactile/plan.hpp"

namespace exactile {

struct DeviceInfo {
  Backend backend = Backend::cpu;
  std::string name = {};
  bool available = false;
  std::string reason = {};                                           ///< why it is not available
  std::vector<std::pair<std::string, std::string>> properties = {};  ///< e.g. {"isa", "avx512"}, {"L2 cache", "1 MiB"}
};

struct KernelInfo {
  std::string name = {};  ///< what GemmOptions::kernel takes
  Backend backend = Backend::cpu;
  std::string role = {};     ///< "ladder" teaches one step; "engine" is chosen by the planner
  std::string summary = {};  ///< one sentence
  std::vector<GemmTypes> types = {};
  bool available = false;   ///< on this machine
  bool on_device = false;   ///< computes on a device with memory of its own: see Memory
  std::string reason = {};  ///< why it is not available
};

/// Every device the library knows how to look for, the unusable ones with the reason.
[[nodiscard]] std::vector<DeviceInfo> devices();

/// Every kernel of every backend, in the planner's order of preference.
[[nodiscard]] std::vector<KernelInfo> kernels();

/// Measures (about a tenth of a second) how many real operations per second the device reaches on `threads` threads
/// (0: the default number; means nothing to a GPU) with the widest multiply-add of this accumulator type and all
/// operands in registers.
[[nodiscard]] Result<double> measure_peak(Backend backend, GemmTypes types, int threads = 0, int device = 0);

/// The number of threads a product uses when nothing is asked for.
[[nodiscard]] int default_threads();

/// "0.1.0"
[[nodiscard]] std::string_view version() noexcept;

}  // namespace exactile
