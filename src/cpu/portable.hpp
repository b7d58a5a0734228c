// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// `portable_blocked`: every type on every processor. Blocks of A and B are converted to the type that sums and packed;
/// a register tile written as plain loops, which the compiler turns into what vector instructions its target has, sums
/// them; C is written once, so narrow types are rounded once. Threads share the blocks of C.
/// Traffic model: A once per block of columns, B once per block of rows, C once.
[[nodiscard]] plan::KernelEntry portable_entry();

}  // namespace exactile::cpu
