// SPDX-License-Identifier: Apache-2.0
/// \file
/// All kernel families of the backend. Each is defined in the file of its name (gemv in gemv.cpp, several types of one
/// engine together), and is a row of kernel_list.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/kernel.hpp"

namespace exactile::cuda {

// Of at most eight rows or columns, of K below 64, and of many small products.
extern const Kernel gemv;
extern const Kernel outer_product;
extern const Kernel short_sums;
extern const Kernel batched_small;

// On Hopper's own instructions (sm_90a).
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

// On the tensor cores of compute capability 8.0 and later: 8 and 16 bits, f32 by slices.
extern const Kernel sm80_bf16_mma;
extern const Kernel sm80_f16_mma;
extern const Kernel sm80_i8_i32_mma;
extern const Kernel sm80_f32_bf16x6_mma;

// f64 on the FP64 tensor cores.
extern const Kernel sm80_f64_mma;
extern const Kernel sm90_f64_mma;
/// Their products with chunks of so many of K, a multiple of 32, which are summed and added as those of 1024 are.
[[nodiscard]] std::unique_ptr<DeviceProduct> make_sm80_f64(const plan::Problem& problem, const Device& device,
                                                           const Configuration& configuration, std::int64_t k_of_chunk);
[[nodiscard]] std::unique_ptr<DeviceProduct> make_sm90_f64(const plan::Problem& problem, const Device& device,
                                                           const Configuration& configuration, std::int64_t k_of_chunk);
/// No kernel of the list: times a B of k / 2 x n / 2 complex numbers, contiguous along N and within reach of TMA, whose
/// layout has their row stride in units of f64. Each stands for the real numbers of kernels/complex/real_form.hpp, with
/// the conjugates that the layouts say.
extern const Kernel sm90_f64_by_complex_mma;

// The SIMT engine on CUDA cores: instances of simt/tile_kernel.cuh.
extern const Kernel simt_f32;
extern const Kernel simt_f64;
extern const Kernel simt_integer;
extern const Kernel simt_complex;
extern const Kernel simt_native;
extern const Kernel simt_f32_sliced_k;

// Complex products by the kernels for real ones.
extern const Kernel complex_f64_mma;
extern const Kernel complex_f32_fp16x3_wgmma;
extern const Kernel complex_f32_fp16x3_split_a_wgmma;
extern const Kernel complex_f32_fp16x3_split_b_wgmma;
extern const Kernel complex_f32_bf16x6_mma;
extern const Kernel complex_simt_f32;

// More than `standard` promises: compensated and correctly rounded.
extern const Kernel cuda_certified;

// The steps of the ladder.
extern const Kernel cuda_naive;
extern const Kernel cuda_naive_kahan;
extern const Kernel cuda_row_shared_kahan;
extern const Kernel cuda_row_shared_kahan_pitched;
extern const Kernel cuda_tiled_kahan;
extern const Kernel cuda_tiled;
extern const Kernel cuda_register_blocked;
extern const Kernel cuda_vectorized;
extern const Kernel cuda_pipelined;
extern const Kernel cuda_warp_tiled;

struct Multiplier;
/// Null for a kernel that is no complex one.
[[nodiscard]] const Multiplier* multiplier_of_complex(const Kernel& kernel, int compute_capability);
/// Null for f64 and cf64, which cuda_certified sums itself.
[[nodiscard]] const Multiplier* multiplier_of_certified(ElementType input, int compute_capability);

}  // namespace exactile::cuda
