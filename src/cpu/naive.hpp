// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cpu_naive`: the write-ups' plain loop, the base of every speed-up. Every element of C walks a row of A and a column
/// of B, so the traffic model is 2mnk elements. One thread. See docs/ladder/cpu_naive.md.
#pragma once

#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

[[nodiscard]] plan::KernelEntry naive_entry();

}  // namespace exactile::cpu
