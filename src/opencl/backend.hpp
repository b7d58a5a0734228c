// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/kernel_entry.hpp"

namespace exactile::opencl {

[[nodiscard]] const plan::BackendEntry& backend();

}  // namespace exactile::opencl
