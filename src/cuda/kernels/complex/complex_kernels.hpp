// SPDX-License-Identifier: Apache-2.0
/// \file
/// Complex products by the kernels for real ones.
#pragma once

#include "cuda/multiplier.hpp"

namespace exactile::cuda {

extern const Kernel complex_f64_mma;
extern const Kernel complex_f32_fp16x3_wgmma;
extern const Kernel complex_f32_fp16x3_split_a_wgmma;
extern const Kernel complex_f32_fp16x3_split_b_wgmma;
extern const Kernel complex_f32_bf16x6_mma;
extern const Kernel complex_simt_f32;

/// Null for a kernel that is none of these.
[[nodiscard]] const Multiplier* multiplier_of_complex(const Kernel& kernel, int compute_capability);

}  // namespace exactile::cuda
