// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernels of this folder. They need Hopper's own instructions (sm_90a).
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel sm90_bf16_wgmma_128x256;
extern const Kernel sm90_bf16_wgmma_192x192;
extern const Kernel sm90_bf16_wgmma_192x144;
extern const Kernel sm90_bf16_wgmma_128x192;
extern const Kernel sm90_bf16_wgmma_128x160;
extern const Kernel sm90_bf16_wgmma_128x128;
extern const Kernel sm90_bf16_wgmma_128x64;
extern const Kernel sm90_bf16_wgmma_64x40;
extern const Kernel sm90_bf16_wgmma_64x16;
extern const Kernel sm90_bf16_wgmma_128x16;
extern const Kernel sm90_bf16_wgmma_128x256_k2;
extern const Kernel sm90_bf16_wgmma_128x128_k2;
extern const Kernel sm90_bf16_wgmma_128x128_k4;
extern const Kernel sm90_bf16_wgmma_64x128;
extern const Kernel sm90_bf16_wgmma_64x64;
extern const Kernel sm90_bf16_wgmma_128x96_k2;
extern const Kernel sm90_bf16_wgmma_64x96_k2;
extern const Kernel sm90_bf16_wgmma_64x48_k2;
extern const Kernel sm90_bf16_wgmma_64x32_k4;
extern const Kernel sm90_bf16_wgmma_128x256_c64;
extern const Kernel sm90_bf16_wgmma_128x160_c32;
extern const Kernel sm90_bf16_wgmma_64x128_c32;
extern const Kernel sm90_bf16_wgmma_64x64_c32;
extern const Kernel sm90_f16_wgmma_128x256;
extern const Kernel sm90_f16_wgmma_192x192;
extern const Kernel sm90_f16_wgmma_192x144;
extern const Kernel sm90_f16_wgmma_128x192;
extern const Kernel sm90_f16_wgmma_128x160;
extern const Kernel sm90_f16_wgmma_128x128;
extern const Kernel sm90_f16_wgmma_128x64;
extern const Kernel sm90_f16_wgmma_64x40;
extern const Kernel sm90_f16_wgmma_64x16;
extern const Kernel sm90_f16_wgmma_128x16;
extern const Kernel sm90_f16_wgmma_128x256_k2;
extern const Kernel sm90_f16_wgmma_128x128_k2;
extern const Kernel sm90_f16_wgmma_128x128_k4;
extern const Kernel sm90_f16_wgmma_64x128;
extern const Kernel sm90_f16_wgmma_64x64;
extern const Kernel sm90_f16_wgmma_128x96_k2;
extern const Kernel sm90_f16_wgmma_64x96_k2;
extern const Kernel sm90_f16_wgmma_64x48_k2;
extern const Kernel sm90_f16_wgmma_64x32_k4;
extern const Kernel sm90_f16_wgmma_128x256_c64;
extern const Kernel sm90_f16_wgmma_128x160_c32;
extern const Kernel sm90_f16_wgmma_64x128_c32;
extern const Kernel sm90_f16_wgmma_64x64_c32;
extern const Kernel sm90_i8_i32_wgmma_128x256;
extern const Kernel sm90_i8_i32_wgmma_128x192;
extern const Kernel sm90_i8_i32_wgmma_128x128;
extern const Kernel sm90_i8_i32_wgmma_128x64;
extern const Kernel sm90_i8_i32_wgmma_128x16;
extern const Kernel sm90_bf16_few_rows;
extern const Kernel sm90_f16_few_rows;
extern const Kernel sm90_i8_i32_few_rows;
extern const Kernel sm90_bf16_few_columns;
extern const Kernel sm90_f16_few_columns;
extern const Kernel sm90_f8e4m3_wgmma_128x256;
extern const Kernel sm90_f8e4m3_wgmma_128x192;
extern const Kernel sm90_f8e4m3_wgmma_128x128;
extern const Kernel sm90_f8e4m3_wgmma_128x64;
extern const Kernel sm90_f8e4m3_wgmma_128x16;
extern const Kernel sm90_f8e5m2_wgmma_128x256;
extern const Kernel sm90_f8e5m2_wgmma_128x192;
extern const Kernel sm90_f8e5m2_wgmma_128x128;
extern const Kernel sm90_f8e5m2_wgmma_128x64;
extern const Kernel sm90_f8e5m2_wgmma_128x16;
extern const Kernel sm90_f32_tf32_wgmma_128x256;
extern const Kernel sm90_f32_tf32_wgmma_128x128;
extern const Kernel sm90_f32_tf32_wgmma_128x64;
extern const Kernel sm90_f32_tf32_wgmma_128x16;
extern const Kernel sm90_f32_fp16x3_wgmma;
extern const Kernel sm90_f32_fp16x3_rs_a_wgmma;
extern const Kernel sm90_f32_fp16x3_rs_b_wgmma;
extern const Kernel sm90_f32_fp16x3_rr_wgmma;
extern const Kernel sm90_f32_bf16x6_wgmma;

}  // namespace exactile::cuda
