// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exactile/devices.hpp"

namespace exactile::cpu {

/// See exactile::measure_peak(). f64 and cf64 count in f64 multiply-adds, the other floating types in f32; integers in
/// multiply-adds of their width as the portable kernels can do them.
[[nodiscard]] Result<double> measure_peak(GemmTypes types, int device, int threads);

}  // namespace exactile::cpu
