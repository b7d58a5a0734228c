// SPDX-License-Identifier: Apache-2.0
#include "exactile/devices.hpp"

#include <fmt/format.h>

#include "api/backends.hpp"
#include "core/thread_count.hpp"

namespace exactile {

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all;
  for (const plan::BackendEntry* backend : api::backends())
    for (DeviceInfo& device : backend->devices()) all.push_back(std::move(device));
  return all;
}

std::vector<KernelInfo> kernels() {
  std::vector<KernelInfo> all;
  for (const plan::BackendEntry* backend : api::backends()) {
    for (const plan::KernelEntry& entry : backend->kernels()) {
      const std::string_view reason = entry.unavailable(0);
      all.push_back({.name = std::string(entry.name),
                     .backend = entry.backend,
                     .role = std::string(entry.role),
                     .summary = std::string(entry.summary),
                     .types = {entry.types.begin(), entry.types.end()},
                     .available = reason.empty(),
                     .on_device = entry.on_device,
                     .reason = std::string(reason)});
    }
  }
  return all;
}

Result<double> measure_peak(Backend backend, GemmTypes types, int threads, int device) {
  for (const plan::BackendEntry* entry : api::backends())
    if (entry->backend == backend) return entry->measure_peak(types, device, core::thread_count(threads));
  return Status(StatusCode::invalid_argument,
                fmt::format("backend = {}: expected the one whose device is to be measured", to_string(backend)));
}

int default_threads() { return core::thread_count(0); }

std::string_view version() noexcept { return EXACTILE_VERSION; }

}  // namespace exactile
