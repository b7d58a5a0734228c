// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plan/kernel_entry.hpp"

namespace exactile::cuda {

/// THE list of the CUDA kernels, in the planner's order of preference.
[[nodiscard]] std::span<const plan::KernelEntry> kernel_list();

}  // namespace exactile::cuda
