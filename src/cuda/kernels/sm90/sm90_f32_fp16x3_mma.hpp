// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel sm90_f32_fp16x3_mma;

}  // namespace exactile::cuda
