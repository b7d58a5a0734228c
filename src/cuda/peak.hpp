// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exactile/devices.hpp"

namespace exactile::cuda {

/// See exactile::measure_peak(): what the CUDA cores reach for f32, cf32, i32 and i64, the FP64 tensor cores (the CUDA
/// cores before compute capability 8.0) for f64 and cf64, and Hopper's tensor cores for f16, bf16 and i8.
[[nodiscard]] Result<double> measure_peak(GemmTypes types, int device, int threads);

}  // namespace exactile::cuda
