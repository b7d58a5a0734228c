// SPDX-License-Identifier: Apache-2.0
// The backend of a build without the CUDA toolkit: it is known, and says why it cannot be used.
#include "cuda/backend.hpp"

namespace exactile::cuda {
namespace {

constexpr const char* reason = "this build of exactile was made without the CUDA toolkit";

Status absent() { return {StatusCode::device_unavailable, reason}; }

}  // namespace

const plan::BackendEntry& backend() {
  static const plan::BackendEntry entry{
      .name = "cuda",
      .kernels = [] { return std::span<const plan::KernelEntry>(); },
      .devices = []() -> std::vector<DeviceInfo> {
        return {{.backend = "cuda", .name = "NVIDIA GPU", .available = false, .reason = reason}};
      },
      .measure_peak = [](GemmTypes, int, int) -> Result<double> { return absent(); },
      .open = [](int) -> Result<std::unique_ptr<plan::DeviceContext>> { return absent(); },
      .prepare_scaling = nullptr};
  return entry;
}

}  // namespace exactile::cuda
