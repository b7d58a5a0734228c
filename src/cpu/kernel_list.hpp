// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// THE list of the CPU's kernels, in order of preference.
[[nodiscard]] std::span<const plan::KernelEntry> kernel_list();

/// Those of them that take the types, in the same order.
[[nodiscard]] std::span<const plan::KernelEntry* const> kernels_of(GemmTypes types);

}  // namespace exactile::cpu
