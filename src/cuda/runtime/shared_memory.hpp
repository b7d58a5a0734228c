// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

/// Allows launches of `function` with that much dynamic shared memory on the device, which must be current. Asks the
/// runtime once for each function and device.
[[nodiscard]] Status allow_shared_memory(const void* function, int bytes, const Device& device,
                                         std::string_view kernel);

}  // namespace exactile::cuda
