// SPDX-License-Identifier: Apache-2.0
/// \file
/// What moving operands between host memory and the device costs, and enqueuing a kernel.
#pragma once

#include "cuda/device.hpp"
#include "exactile/status.hpp"
#include "plan/host_link.hpp"

namespace exactile::cuda::model {

/// The best of several copies each, as a planner compares what nothing disturbs; takes some tenths of a second.
[[nodiscard]] Result<plan::HostLink> measure_link(const Device& device);

/// Overheads::host_launch: the seconds that the host takes to enqueue a small product by the first kernel of the list
/// that does it in one launch.
[[nodiscard]] Result<double> measure_host_launch(const Device& device);

}  // namespace exactile::cuda::model
