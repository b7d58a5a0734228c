// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a CUDA kernel to what the planner asks of any kernel.
#pragma once

#include "cuda/runtime/device.hpp"
#include "cuda/runtime/executable.hpp"

namespace exactile::cuda {

/// Why the device cannot run a kernel of those capabilities; empty if it can. The text lives as long as the program.
[[nodiscard]] std::string_view why_unavailable(int least_capability, int most_capability, int device);

template <const Kernel& kernel>
[[nodiscard]] plan::KernelEntry entry() {
  static constexpr auto device_of = [](const plan::Problem& p) -> const Device& {
    return devices()[static_cast<std::size_t>(p.device)];  // unavailable() came first
  };
  return {
      .name = kernel.name,
      .backend = "cuda",
      .role = kernel.role,
      .summary = kernel.summary,
      .types = kernel.types,
      .unavailable =
          [](int device) { return why_unavailable(kernel.least_capability, kernel.most_capability, device); },
      .refuses = [](const plan::Problem& p) -> std::string_view {
        if (p.memory == Memory::host) return "operands in host memory are not moved yet";
        return kernel.refuses(p, device_of(p));
      },
      .cost = [](const plan::Problem& p) { return kernel.cost(p, device_of(p)); },
      .prepare =
          [](const plan::Problem& p) { return on_device(kernel.prepare(p, device_of(p)), device_of(p), kernel.name); },
      .on_device = true};
}

}  // namespace exactile::cuda
