// SPDX-License-Identifier: Apache-2.0
/// \file
/// f64 products on the FP64 tensor cores.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel sm80_f64_mma;
extern const Kernel sm90_f64_mma;
/// No kernel of the list: times a B of k / 2 x n / 2 complex numbers, contiguous along N and within reach of TMA, whose
/// layout has their row stride in units of f64. Each stands for the real numbers of kernels/complex/real_form.hpp, with
/// the conjugates that the layouts say.
extern const Kernel sm90_f64_by_complex_mma;

}  // namespace exactile::cuda
