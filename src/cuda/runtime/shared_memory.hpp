// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

/// Allows launches of `function` with that much dynamic shared memory on the current device. Asks the runtime once for
/// each function and device.
[[nodiscard]] Status allow_shared_memory(const void* function, int bytes, std::string_view kernel);

template <class... Parameters>
[[nodiscard]] Status allow_shared_memory(void (*function)(Parameters...), int bytes, std::string_view kernel) {
  return allow_shared_memory(reinterpret_cast<const void*>(function), bytes, kernel);
}

}  // namespace exactile::cuda
