// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a CUDA kernel to what the planner asks of any kernel.
#pragma once

#include "cuda/model/rank.hpp"
#include "cuda/order_of_sums.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/executable.hpp"
#include "cuda/runtime/host_operands.hpp"
#include "cuda/runtime/scaled_product.hpp"
#include "plan/scales.hpp"
#include "staging/staging.hpp"

namespace exactile::cuda {

/// Why the device cannot run a kernel of those capabilities; empty if it can. The text lives as long as the program.
[[nodiscard]] std::string_view why_unavailable(int least_capability, int most_capability, int device);

/// The candidates that the problem's parameters allow, cheapest first.
[[nodiscard]] std::vector<model::Ranked> ranked(const Kernel& kernel, const plan::Problem& problem,
                                                const Device& device);

/// The cheapest of them; where none is allowed, as may be for one tile of a staged product, the cheapest of all.
[[nodiscard]] Configuration chosen(const Kernel& kernel, const plan::Problem& problem, const Device& device);

/// Why no configuration of the kernel has the problem's parameters, if some were asked for, or the order of sums of a
/// reproducible one; empty if one has.
[[nodiscard]] std::string_view configurations_refuse(const Kernel& kernel, const plan::Problem& problem,
                                                     const Device& device);

/// Where the sizes of a kernel's configurations can be set, and what measurements on that device are filed under.
[[nodiscard]] TuningTarget tuning_target(const Kernel& kernel, GemmTypes types, int device);

/// What becomes of one kernel when the planner asks: a problem in host memory is judged, and computed, as the one that
/// staging makes of it in device memory.
template <const Kernel& kernel>
struct Adapter {
  static const Device& device_of(const plan::Problem& p) {
    return devices()[static_cast<std::size_t>(p.device)];  // unavailable() came first
  }
  static const plan::HostLink& link_of(const plan::Problem& p) { return model::model_of(device_of(p)).rows().link; }
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
  static std::string_view refuses_on_device(const plan::Problem& p) {
    const auto why = scales_sums(p) ? scaled_refuses(kernel, p, device_of(p)) : kernel.refuses(p, device_of(p));
    return why.empty() ? configurations_refuse(kernel, p, device_of(p)) : why;
  }
  static double cost(const plan::Problem& p) {
    if (p.memory == Memory::device) return ranked(kernel, p, device_of(p)).front().seconds;
    const plan::Problem there = staging::on_device(p);
    return staging::cost(p, ranked(kernel, there, device_of(there)).front().seconds, link_of(p));
  }
  static std::vector<plan::Offer> offers(const plan::Problem& p, std::size_t most) {
    const bool is_there = p.memory == Memory::device;
    const plan::Problem there = is_there ? p : staging::on_device(p);
    std::vector<plan::Offer> made;
    for (const model::Ranked& way : ranked(kernel, there, device_of(there))) {
      if (made.size() == most) break;
      made.push_back({.parameters = exact_pin(way.configuration),
                      .configuration = to_string(way.configuration),
                      .seconds = is_there ? way.seconds : staging::cost(p, way.seconds, link_of(p))});
    }
    return made;
  }
  static std::unique_ptr<plan::Executable> prepare_on_device(const plan::Problem& p) {
    const Device& device = device_of(p);
    const Configuration best = chosen(kernel, p, device);
    return on_device(scales_sums(p) ? make_scaled(kernel, p, device, best) : kernel.make(p, device, best), device,
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
                         .backend = Backend::cuda,
                         .role = kernel.role,
                         .summary = kernel.summary,
                         .types = plan::types_of_devices(kernel.types),
                         .unavailable = Adapted::unavailable,
                         .refuses = Adapted::refuses,
                         .cost = Adapted::cost,
                         .offers = Adapted::offers,
                         .prepare = Adapted::prepare,
                         .on_device = true,
                         .reproducible = keeps_some_order(kernel.name)};
  made.tunable = [](GemmTypes types, int device) { return tuning_target(kernel, types, device); };
  return made;
}

}  // namespace exactile::cuda
