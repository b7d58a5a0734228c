// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cpu_by_rows`: rows of B, one after the other, added to a row of C: 3mnk elements. The kernel of
/// docs/add-a-kernel.md.
#pragma once

#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

[[nodiscard]] plan::KernelEntry by_rows_entry();

}  // namespace exactile::cpu
