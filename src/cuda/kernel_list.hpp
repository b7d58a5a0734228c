// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "cuda/kernel.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cuda {

/// THE list of the CUDA kernels, in the planner's order of preference.
[[nodiscard]] std::span<const plan::KernelEntry> kernel_list();

/// The same kernels as they describe themselves.
[[nodiscard]] std::span<const Kernel* const> kernels();

}  // namespace exactile::cuda
