// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace exactile::cuda {

/// What kernels and cost models need to know of a device; read once, in runtime/device.cpp.
struct Device {
  std::string_view name = {};  ///< as the driver says; lives as long as the process
  int index = 0;
  int compute_capability = 0;  ///< 10 * major + minor: 90 is an H100 or H200
  int sm_count = 0;
  std::int64_t shared_bytes_per_block = 0;  ///< the opt-in limit
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  double clock_hertz = 0;              ///< of the SMs, boost
  double memory_bytes_per_second = 0;  ///< bus width times clock; what a copy reaches is some 10 % less
};

/// SMs that clusters of that size fill: they hang together in groups of 16 or 18, not all of whose SMs larger clusters
/// can use.
[[nodiscard]] constexpr int sms_filled(const Device& device, int cluster) {
  return cluster <= 2 ? device.sm_count : device.sm_count * 10 / 11;
}

}  // namespace exactile::cuda
