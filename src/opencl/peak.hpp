// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exactile/status.hpp"
#include "exactile/types.hpp"

namespace exactile::opencl {

/// Operations per second of kernels/peak.cl on the whole device; `threads` means nothing to it.
[[nodiscard]] Result<double> measure_peak(GemmTypes types, int device, int threads);

}  // namespace exactile::opencl
