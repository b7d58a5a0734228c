// SPDX-License-Identifier: Apache-2.0
/// \file
/// 8 and 16 bits, and f32 by slices, on the tensor cores of compute capability 8.0 and later.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel sm80_bf16_mma;
extern const Kernel sm80_f16_mma;
extern const Kernel sm80_i8_i32_mma;
extern const Kernel sm80_f32_bf16x6_mma;

}  // namespace exactile::cuda
