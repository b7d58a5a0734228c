// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/device_choice.hpp"

namespace exactile::opencl {

[[nodiscard]] const plan::BackendEntry& backend();
[[nodiscard]] const plan::Offload& offload();

}  // namespace exactile::opencl
