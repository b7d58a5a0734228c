// SPDX-License-Identifier: Apache-2.0
/// \file
/// From an OpenCL kernel to what the planner asks of any kernel.
#pragma once

#include "opencl/kernel.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::opencl {

/// The product of `kernel` for operands in host memory or in buffers, as the problem says.
[[nodiscard]] std::unique_ptr<plan::Executable> make_executable(const Kernel& kernel, const plan::Problem& problem);

/// C <- activation(beta * C + bias) in buffers: what remains of a product whose alpha or k is zero.
[[nodiscard]] std::unique_ptr<plan::Executable> prepare_scaling(const plan::Problem& problem);

[[nodiscard]] std::string_view why_refused(const Kernel& kernel, const plan::Problem& problem);

[[nodiscard]] TuningTarget tuning_target(const Tunable& tunable, GemmTypes types, int device);

/// The device of a problem that why_no_device() did not object to.
[[nodiscard]] const Device& device_of(const plan::Problem& problem);

template <const Kernel& kernel>
[[nodiscard]] plan::KernelEntry entry() {
  plan::KernelEntry made{.name = kernel.name,
                         .backend = Backend::opencl,
                         .role = kernel.role,
                         .summary = kernel.summary,
                         .types = plan::types_of_devices(kernel.types),
                         .unavailable = [](int device) { return why_no_device(device); },
                         .refuses = [](const plan::Problem& p) { return why_refused(kernel, p); },
                         .cost = [](const plan::Problem& p) { return kernel.cost(p, device_of(p)); },
                         .prepare = [](const plan::Problem& p) { return make_executable(kernel, p); },
                         .on_device = true,
                         .conjugates = kernel.conjugates,
                         .certifies = kernel.certifies};
  if (kernel.tunable != nullptr)
    made.tunable = [](GemmTypes types, int device) { return tuning_target(*kernel.tunable, types, device); };
  return made;
}

}  // namespace exactile::opencl
