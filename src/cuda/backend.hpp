// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/kernel_entry.hpp"

namespace exactile::cuda {

[[nodiscard]] const plan::BackendEntry& backend();

}  // namespace exactile::cuda
