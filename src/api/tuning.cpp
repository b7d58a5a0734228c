// SPDX-License-Identifier: Apache-2.0
#include "exactile/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/backends.hpp"
#include "api/guarded.hpp"
#include "plan/select.hpp"

namespace exactile {
namespace {

Result<TuningTarget> target_of(const plan::KernelEntry& entry, GemmTypes types, int device) {
  if (entry.tunable == nullptr)
    return Status(StatusCode::unsupported, fmt::format("kernel '{}' has nothing to tune", entry.name));
  if (std::ranges::find(entry.types, types) == entry.types.end())
    return Status(StatusCode::unsupported,
                  fmt::format("kernel '{}' does not multiply {}", entry.name, to_string(types)));
  if (!entry.on_device && device != 0) return plan::no_such_processor(device, entry.name);
  if (const auto reason = entry.unavailable(device); !reason.empty())
    return Status(StatusCode::device_unavailable, fmt::format("kernel '{}': {}", entry.name, reason));
  return entry.tunable(types, device);
}

}  // namespace

Result<TuningTarget> tuning_target(std::string_view kernel, GemmTypes types, int device) {
  return api::guarded([&]() -> Result<TuningTarget> {
    for (const plan::BackendEntry* backend : api::backends())
      for (const plan::KernelEntry& entry : backend->kernels())
        if (entry.name == kernel) return target_of(entry, types, device);
    return Status(StatusCode::unknown_name, fmt::format("kernel '{}' is not known; see kernels()", kernel));
  });
}

Result<Measurements> measure_device(Backend asked, const Measuring& measuring) {
  return api::guarded([&]() -> Result<Measurements> {
    for (const plan::BackendEntry* backend : api::backends()) {
      if (backend->backend != asked) continue;
      if (backend->measure != nullptr) return backend->measure(measuring);
      for (const DeviceInfo& device : backend->devices())
        if (!device.available)
          return Status(StatusCode::device_unavailable, fmt::format("{}: {}", to_string(asked), device.reason));
    }
    return Status(
        StatusCode::unsupported,
        fmt::format("backend = {}: has no cost model that is measured; expected cpu or cuda", to_string(asked)));
  });
}

}  // namespace exactile
