// SPDX-License-Identifier: Apache-2.0
// Compiled with this instruction set's flags, and called only after isa.cpp found it.
#include "cpu/micro/highway_kernels.hpp"

namespace exactile::cpu {

// 16 registers: 12 sums, 2 of B, 1 of A.
const MicroKernels<float>& avx2_f32() { return HWY_NAMESPACE::kernels<float, 12>(); }

}  // namespace exactile::cpu
