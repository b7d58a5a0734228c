// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernels of this folder. They need Hopper's own instructions (sm_90a).
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel sm90_bf16_wgmma;
extern const Kernel sm90_f16_wgmma;
extern const Kernel sm90_i8_i32_wgmma;
extern const Kernel sm90_f8e4m3_wgmma;
extern const Kernel sm90_f8e5m2_wgmma;
extern const Kernel sm90_f32_tf32_wgmma;
extern const Kernel sm90_f32_fp16x3_wgmma;
extern const Kernel sm90_f32_fp16x3_split_a_wgmma;
extern const Kernel sm90_f32_fp16x3_split_b_wgmma;
extern const Kernel sm90_f32_fp16x3_fused_split_wgmma;
extern const Kernel sm90_f32_fp16x3_mma;

}  // namespace exactile::cuda
