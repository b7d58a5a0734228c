// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/device_choice.hpp"

namespace exactile::cuda {

[[nodiscard]] const plan::BackendEntry& backend();
[[nodiscard]] const plan::Offload& offload();

/// What opening NVIDIA's driver and making a context costs, roughly.
inline constexpr double context_seconds = 0.2;

}  // namespace exactile::cuda
