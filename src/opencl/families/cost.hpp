// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "opencl/runtime/device.hpp"
#include "plan/problem.hpp"

namespace exactile::opencl {

/// Multiply-adds in f32 that the device could do in a second by its own account, times two.
[[nodiscard]] double nominal_peak(const Device& device);

/// Seconds at `share` of the nominal peak, plus a launch.
[[nodiscard]] double estimate(const plan::Problem& problem, const Device& device, double share);

}  // namespace exactile::opencl
