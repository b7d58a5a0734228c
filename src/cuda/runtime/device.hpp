// SPDX-License-Identifier: Apache-2.0
/// \file
/// The NVIDIA devices of this machine. Asking starts the driver, but makes no context on any device; nothing here is
/// called before somebody asks for the backend.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/kernel.hpp"
#include "exactile/devices.hpp"

namespace exactile::cuda {

/// Looked up once; empty where there is no driver or no device. GemmOptions::device is an index into it.
[[nodiscard]] std::span<const Device> devices();
/// Why devices() is empty; empty where it is not.
[[nodiscard]] std::string_view why_no_device();
/// The least compute capability (10 * major + minor) that this build has code for.
[[nodiscard]] int least_capability_built();
/// Why a device of that capability cannot run what is built for `least` and later; empty if it can.
[[nodiscard]] std::string why_too_old(int capability, int least);
/// For people and programs: one entry a device, or one that says why there is none.
[[nodiscard]] std::vector<DeviceInfo> device_infos();

/// Whether the process has a context on the device: its first use is over.
[[nodiscard]] bool is_ready(int device);

/// The process that first asked the driver for devices; 0: none has.
[[nodiscard]] int opened_by();

/// Makes a device current for the life of the guard, and the caller's again afterwards; a caller's device that was
/// never used stays so, which cudaSetDevice() would not grant: it makes a context.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  bool is_pushed_ = false;
  Status status_;
};

}  // namespace exactile::cuda
