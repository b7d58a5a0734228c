// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plan/kernel_entry.hpp"

namespace exactile::api {

/// Every backend in this build, in the planner's order.
[[nodiscard]] std::span<const plan::BackendEntry* const> backends();

}  // namespace exactile::api
