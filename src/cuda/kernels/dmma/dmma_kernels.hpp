// SPDX-License-Identifier: Apache-2.0
/// \file
/// f64 products on the FP64 tensor cores.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel sm80_f64_mma;
extern const Kernel sm90_f64_mma;

}  // namespace exactile::cuda
