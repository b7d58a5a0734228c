// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace exactile::cuda {

std::string_view why_unavailable(int least_capability, int most_capability, int device) {
  if (devices().empty()) return why_no_device();
  if (device < 0 || device >= static_cast<int>(devices().size())) return "there is no device of that index";
  const int capability = devices()[static_cast<std::size_t>(device)].compute_capability;
  const int least_built = least_capability_built();
  if (capability >= std::max(least_capability, least_built) && capability <= most_capability) return {};
  const int needed = capability > most_capability ? most_capability : std::max(least_capability, least_built);
  static std::mutex mutex;
  static std::map<std::pair<int, int>, std::string> texts;
  const std::lock_guard lock(mutex);
  std::string& text = texts[{needed, capability}];
  if (text.empty() && capability < least_built) text = why_too_old(capability, least_built);
  if (text.empty())
    text = fmt::format("needs compute capability {}.{}{}; the device has {}.{}", needed / 10, needed % 10,
                       capability < needed ? " or later" : " or earlier", capability / 10, capability % 10);
  return text;
}

TuningTarget tuning_target(int device) {
  constexpr int kernels_version = 1;  // rises whenever measured speeds mean nothing any more
  const DeviceInfo info = device_infos()[static_cast<std::size_t>(device)];
  std::string driver;
  for (const auto& [name, value] : info.properties)
    if (name.find("CUDA") != std::string::npos)
      driver += fmt::format("{}{} {}", driver.empty() ? "" : ", ", name, value);
  return {.version = kernels_version, .device = info.name, .driver = driver};
}

}  // namespace exactile::cuda
