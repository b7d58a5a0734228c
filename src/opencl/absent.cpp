// SPDX-License-Identifier: Apache-2.0
// The backend of a build without OpenCL's headers: it is known, and says why it cannot be used.
#include "opencl/backend.hpp"

namespace exactile::opencl {
namespace {

constexpr const char* reason = "this build of exactile was made without OpenCL's headers";

Status absent() { return {StatusCode::device_unavailable, reason}; }

}  // namespace

const plan::BackendEntry& backend() {
  static const plan::BackendEntry entry{
      .backend = Backend::opencl,
      .kernels = [] { return std::span<const plan::KernelEntry>(); },
      .devices = []() -> std::vector<DeviceInfo> {
        return {{.backend = Backend::opencl, .name = "OpenCL", .available = false, .reason = reason}};
      },
      .measure_peak = [](GemmTypes, int, int) -> Result<double> { return absent(); },
      .open = [](int) -> Result<std::unique_ptr<plan::DeviceContext>> { return absent(); }};
  return entry;
}

/// Its first question answers it: nothing else is asked.
const plan::Offload& offload() {
  static const plan::Offload none{.backend = &backend(),
                                  .why_absent = [] { return std::string_view(reason); },
                                  .first_use_seconds = nullptr,
                                  .only_by_name = nullptr,
                                  .is_pinned = nullptr};
  return none;
}

}  // namespace exactile::opencl
