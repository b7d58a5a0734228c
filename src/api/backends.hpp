// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plan/device_choice.hpp"

namespace exactile::api {

/// Every backend in this build, in the planner's order.
[[nodiscard]] std::span<const plan::BackendEntry* const> backends();

/// Of those of them whose devices are considered where no backend is named.
[[nodiscard]] std::span<const plan::Offload* const> offloads();

}  // namespace exactile::api
