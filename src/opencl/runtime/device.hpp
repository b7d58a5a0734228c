// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every OpenCL device of every platform, found once, with what kernels and cost models need to know of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exactile/types.hpp"
#include "opencl/runtime/api.hpp"

namespace exactile::opencl {

struct Device {
  int index = 0;  ///< what GemmOptions::device takes
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  std::string name;
  std::string vendor;
  std::string driver;
  std::string version;  ///< "OpenCL 3.0 CUDA"
  std::string platform_name;
  bool is_cpu = false;
  bool is_gpu = false;
  bool has_f64 = false;
  bool fuses_f32 = false;  ///< has a fused multiply-add for it
  bool fuses_f64 = false;
  bool keeps_f32_subnormals = false;
  int compute_units = 0;
  int clock_megahertz = 0;
  int vector_width_f32 = 1;  ///< native
  std::int64_t max_group_items = 0;
  std::int64_t local_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t max_buffer_bytes = 0;

  /// Why the device cannot compute at all ("has no compiler"); empty if it can.
  std::string trouble;
};

/// "<text>: <limit> <unit>", for a reason that names one of the device's limits; lives as long as the program.
[[nodiscard]] std::string_view with_limit(std::string_view text, std::int64_t limit, std::string_view unit);

/// All of them, GPUs first, then accelerators, then CPUs; unusable ones last. EXACTILE_OPENCL_DEVICE moves the devices
/// whose name contains its value to the front.
[[nodiscard]] std::span<const Device> all_devices();
/// The process that first asked for them; 0: none has.
[[nodiscard]] int opened_by();
/// How many of the first ones are usable.
[[nodiscard]] int usable_device_count();
/// Why there is no device number `index`; empty where there is one.
[[nodiscard]] std::string_view why_no_device(int index);
/// What the driver says of a device that is not in the list (a sub-device, or one of the caller's own).
[[nodiscard]] Device describe_device(cl_device_id id);
/// Whether the device sums in that type.
[[nodiscard]] bool has_type(const Device& device, ElementType accumulator);

}  // namespace exactile::opencl
