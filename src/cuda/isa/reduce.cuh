// SPDX-License-Identifier: Apache-2.0
/// \file
/// Additions that L2 does, without an answer.
#pragma once

namespace exactile::cuda::isa {

/// red.add: *place += x, rounded to nearest. Those of one thread to one place happen in its order.
__device__ inline void reduce_add(double* place, double x) {
  asm volatile("red.relaxed.gpu.global.add.f64 [%0], %1;" ::"l"(place), "d"(x) : "memory");
}

}  // namespace exactile::cuda::isa
