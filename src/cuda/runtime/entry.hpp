// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a CUDA kernel to what the planner asks of any kernel.
#pragma once

#include "cuda/runtime/device.hpp"
#include "cuda/runtime/executable.hpp"
#include "cuda/runtime/host_operands.hpp"
#include "cuda/runtime/scaled_product.hpp"
#include "plan/scales.hpp"
#include "staging/staging.hpp"

namespace exactile::cuda {

/// Why the device cannot run a kernel of those capabilities; empty if it can. The text lives as long as the program.
[[nodiscard]] std::string_view why_unavailable(int least_capability, int most_capability, int device);

/// What measurements of kernels on that device are filed under. There are no parameters to set: tiles are kernels of
/// their own, and what a search measures is which of them is fastest.
[[nodiscard]] TuningTarget tuning_target(int device);

/// What becomes of one kernel when the planner asks: a problem in host memory is judged, and computed, as the one that
/// staging makes of it in device memory.
template <const Kernel& kernel>
struct Adapter {
  static const Device& device_of(const plan::Problem& p) {
    return devices()[static_cast<std::size_t>(p.device)];  // unavailable() came first
  }
  static std::string_view unavailable(int device) {
    return why_unavailable(kernel.least_capability, kernel.most_capability, device);
  }
  static std::string_view refuses(const plan::Problem& p) {
    if (p.memory == Memory::device) {
      const auto no_room = scales_sums(p) ? no_room_for_sums(p, device_of(p)) : std::string_view();
      return no_room.empty() ? refuses_on_device(p) : no_room;
    }
    if (const auto reason = staging::why_not(p); !reason.empty()) return reason;
    return refuses_on_device(staging::on_device(p));
  }
  static double cost(const plan::Problem& p) {
    if (p.memory == Memory::device) return cost_on_device(p);
    return staging::cost(p, cost_on_device(staging::on_device(p)));
  }
  static std::string_view refuses_on_device(const plan::Problem& p) {
    return scales_sums(p) ? scaled_refuses(kernel, p, device_of(p)) : kernel.refuses(p, device_of(p));
  }
  static double cost_on_device(const plan::Problem& p) {
    return scales_sums(p) ? scaled_cost(kernel, p, device_of(p)) : kernel.cost(p, device_of(p));
  }
  static std::unique_ptr<plan::Executable> prepare_on_device(const plan::Problem& p) {
    const Device& device = device_of(p);
    return on_device(scales_sums(p) ? prepare_scaled(kernel, p, device) : kernel.prepare(p, device), device,
                     kernel.name);
  }
  static bool scales_sums(const plan::Problem& p) { return plan::has_scales(p.description) && !kernel.applies_scales; }
  static std::unique_ptr<plan::Executable> prepare(const plan::Problem& p) {
    if (p.memory == Memory::device) return prepare_on_device(p);
    return staging::prepare(p, stager_of(device_of(p)), {.refuses = refuses, .prepare = prepare_on_device});
  }
};

template <const Kernel& kernel>
[[nodiscard]] plan::KernelEntry entry() {
  using Adapted = Adapter<kernel>;
  plan::KernelEntry made{.name = kernel.name,
                         .backend = "cuda",
                         .role = kernel.role,
                         .summary = kernel.summary,
                         .types = kernel.types,
                         .unavailable = Adapted::unavailable,
                         .refuses = Adapted::refuses,
                         .cost = Adapted::cost,
                         .prepare = Adapted::prepare,
                         .on_device = true};
  if (kernel.role == "engine") made.tunable = [](GemmTypes, int device) { return tuning_target(device); };
  return made;
}

}  // namespace exactile::cuda
