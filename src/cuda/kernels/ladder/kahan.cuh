// SPDX-License-Identifier: Apache-2.0
/// \file Kahan's summation: what an addition loses is kept and taken into the next one.
#pragma once

#include <cuda_runtime.h>
#include <math_constants.h>

namespace exactile::cuda {

/// A sum whose error does not grow with its length: 2u |a||b| and a few u, instead of gamma_K |a||b|.
/// The intrinsics round once each and are never contracted or reordered, whatever the compiler's flags.
struct KahanSum {
  float sum = 0;
  float lost = 0;  ///< what `sum` has too much

  __device__ void add_product(float a, float b) {
    const float term = __fmaf_rn(a, b, -lost);
    const float next = __fadd_rn(sum, term);
    lost = __fsub_rn(__fsub_rn(next, sum), term);
    // An infinite sum has lost Inf - Inf = NaN or more than there was; the plain loop's sum stays infinite.
    if (!(fabsf(lost) < CUDART_INF_F)) lost = 0;
    sum = next;
  }
};

}  // namespace exactile::cuda
