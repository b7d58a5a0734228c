// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cuda/kernel.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cuda {

/// A product whose operands are in device memory, for the planner: the right device, a workspace, the launch.
[[nodiscard]] std::unique_ptr<plan::Executable> on_device(std::unique_ptr<const DeviceProduct> product,
                                                          const Device& device, std::string_view kernel);

/// See plan::BackendEntry::prepare_scaling.
[[nodiscard]] std::unique_ptr<plan::Executable> prepare_scaling(const plan::Problem& problem);

}  // namespace exactile::cuda
