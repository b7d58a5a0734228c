// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/kernel_entry.hpp"

namespace exactile::opencl {

[[nodiscard]] Result<std::unique_ptr<plan::DeviceContext>> open_context(int device);

}  // namespace exactile::opencl
