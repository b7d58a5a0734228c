// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/kernel_entry.hpp"

namespace exactile::cuda {

/// A stream of its own on the device, memory by cudaMalloc, time by events.
[[nodiscard]] Result<std::unique_ptr<plan::DeviceContext>> open_context(int device);

}  // namespace exactile::cuda
