// SPDX-License-Identifier: Apache-2.0
// Compiled with this instruction set's flags, and called only after isa.cpp found it.
#include "cpu/micro/highway_kernels.hpp"

namespace exactile::cpu {

// 32 registers: 24 sums, 2 of B, 1 of A.
const MicroKernels<double>& avx512_f64() { return HWY_NAMESPACE::kernels<double, 24>(); }

}  // namespace exactile::cpu
