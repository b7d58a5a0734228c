// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernel_list.hpp"

#include <array>

#include "cuda/kernels/batched/batched_kernels.hpp"
#include "cuda/kernels/dmma/dmma_kernels.hpp"
#include "cuda/kernels/ladder/ladder_kernels.hpp"
#include "cuda/kernels/outer/outer_kernels.hpp"
#include "cuda/kernels/simt/simt_kernels.hpp"
#include "cuda/kernels/sm80/sm80_kernels.hpp"
#include "cuda/kernels/sm90/sm90_kernels.hpp"
#include "cuda/runtime/entry.hpp"

namespace exactile::cuda {

std::span<const plan::KernelEntry> kernel_list() {
  static const std::array list{
      entry<sm90_f32_fp16x3_wgmma>(),
      entry<sm90_f32_fp16x3_rs_a_wgmma>(),
      entry<sm90_f32_fp16x3_rs_b_wgmma>(),
      entry<sm90_f32_fp16x3_rr_wgmma>(),
      entry<sm90_f32_bf16x6_wgmma>(),
      entry<sm90_bf16_wgmma_128x256>(),
      entry<sm90_bf16_wgmma_192x192>(),
      entry<sm90_bf16_wgmma_128x192>(),
      entry<sm90_bf16_wgmma_128x128>(),
      entry<sm90_bf16_wgmma_128x64>(),
      entry<sm90_bf16_wgmma_64x40>(),
      entry<sm90_bf16_wgmma_64x16>(),
      entry<sm90_bf16_wgmma_128x16>(),
      entry<sm90_bf16_wgmma_128x256_k2>(),
      entry<sm90_bf16_wgmma_128x128_k2>(),
      entry<sm90_bf16_wgmma_128x128_k4>(),
      entry<sm90_bf16_wgmma_64x128>(),
      entry<sm90_bf16_wgmma_64x64>(),
      entry<sm90_bf16_wgmma_64x96_k2>(),
      entry<sm90_f16_wgmma_128x256>(),
      entry<sm90_f16_wgmma_192x192>(),
      entry<sm90_f16_wgmma_128x192>(),
      entry<sm90_f16_wgmma_128x128>(),
      entry<sm90_f16_wgmma_128x64>(),
      entry<sm90_f16_wgmma_64x40>(),
      entry<sm90_f16_wgmma_64x16>(),
      entry<sm90_f16_wgmma_128x16>(),
      entry<sm90_f16_wgmma_128x256_k2>(),
      entry<sm90_f16_wgmma_128x128_k2>(),
      entry<sm90_f16_wgmma_128x128_k4>(),
      entry<sm90_f16_wgmma_64x128>(),
      entry<sm90_f16_wgmma_64x64>(),
      entry<sm90_f16_wgmma_64x96_k2>(),
      entry<sm90_i8_i32_wgmma_128x256>(),
      entry<sm90_i8_i32_wgmma_128x192>(),
      entry<sm90_i8_i32_wgmma_128x128>(),
      entry<sm90_i8_i32_wgmma_128x64>(),
      entry<sm90_i8_i32_wgmma_128x16>(),
      entry<sm90_bf16_few_rows>(),
      entry<sm90_f16_few_rows>(),
      entry<sm90_i8_i32_few_rows>(),
      entry<sm90_bf16_few_columns>(),
      entry<sm90_f16_few_columns>(),
      entry<sm90_f8e4m3_wgmma_128x256>(),
      entry<sm90_f8e4m3_wgmma_128x192>(),
      entry<sm90_f8e4m3_wgmma_128x128>(),
      entry<sm90_f8e4m3_wgmma_128x64>(),
      entry<sm90_f8e4m3_wgmma_128x16>(),
      entry<sm90_f8e5m2_wgmma_128x256>(),
      entry<sm90_f8e5m2_wgmma_128x192>(),
      entry<sm90_f8e5m2_wgmma_128x128>(),
      entry<sm90_f8e5m2_wgmma_128x64>(),
      entry<sm90_f8e5m2_wgmma_128x16>(),
      entry<sm90_f32_tf32_wgmma_128x256>(),
      entry<sm90_f32_tf32_wgmma_128x128>(),
      entry<sm90_f32_tf32_wgmma_128x64>(),
      entry<sm90_f32_tf32_wgmma_128x16>(),
      entry<sm80_bf16_mma>(),
      entry<sm80_f16_mma>(),
      entry<sm80_i8_i32_mma>(),
      entry<sm80_f32_tf32_mma>(),
      entry<sm80_f32_fp16x3_mma>(),
      entry<sm90_f64_mma>(),
      entry<sm80_f64_mma>(),
      entry<outer_product>(),
      entry<batched_small>(),
      entry<cuda_naive>(),
      entry<cuda_naive_kahan>(),
      entry<cuda_row_shared_kahan>(),
      entry<cuda_row_shared_kahan_pitched>(),
      entry<cuda_tiled_kahan>(),
      entry<cuda_tiled>(),
      entry<cuda_tiled_8>(),
      entry<cuda_tiled_32>(),
      entry<cuda_register_blocked>(),
      entry<cuda_vectorized>(),
      entry<cuda_pipelined>(),
      entry<cuda_warp_tiled>(),
      entry<simt_f32_128x128>(),
      entry<simt_f32_64x128>(),
      entry<simt_f32_64x64>(),
      entry<simt_f32_32x32>(),
      entry<simt_f64_64x64>(),
      entry<simt_f32_8x128>(),
      entry<simt_f32_few_rows>(),
      entry<simt_f64_few_rows>(),
      entry<simt_i32_128x128>(),
      entry<simt_i32_32x32>(),
      entry<simt_i64_64x64>(),
      entry<simt_cf32_64x64>(),
      entry<simt_cf64_64x32>(),
      entry<simt_narrow_64x64>(),
  };
  return list;
}

}  // namespace exactile::cuda
