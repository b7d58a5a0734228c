// SPDX-License-Identifier: Apache-2.0
// Every AArch64 processor has these instructions.
#include "cpu/micro/highway_kernels.hpp"

namespace exactile::cpu {

// 32 registers: 24 sums, 2 of B, 1 of A.
const MicroKernels<double>& neon_f64() { return HWY_NAMESPACE::kernels<double, 24>(); }

}  // namespace exactile::cpu
