// SPDX-License-Identifier: Apache-2.0
/// \file
/// What moving operands between host memory and the device costs.
#pragma once

#include "cuda/device.hpp"
#include "exactile/status.hpp"
#include "plan/host_link.hpp"

namespace exactile::cuda::model {

/// The best of several copies each, as a planner compares what nothing disturbs; takes some tenths of a second.
[[nodiscard]] Result<plan::HostLink> measure_link(const Device& device);

}  // namespace exactile::cuda::model
