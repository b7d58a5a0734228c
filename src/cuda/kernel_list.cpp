// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernel_list.hpp"

#include <array>

#include "cuda/kernels/kernels.hpp"
#include "cuda/runtime/entry.hpp"

namespace exactile::cuda {

namespace {

template <const Kernel&... all>
struct List {
  static constexpr std::array<const Kernel*, sizeof...(all)> kernels{&all...};
  static std::span<const plan::KernelEntry> entries() {
    static const auto made = [] {
      std::array list{entry<all>()...};
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].name == cuda_certified.name) list[i].certifies = list[i].reproducible = true;
        list[i].conjugates = list[i].certifies || multiplier_of_complex(*kernels[i], 90) != nullptr;
      }
      return list;
    }();
    return made;
  }
};

using All = List<sm90_f32_fp16x3_wgmma, sm90_f32_fp16x3_split_a_wgmma, sm90_f32_fp16x3_split_b_wgmma,
                 sm90_f32_fp16x3_fused_split_wgmma, sm90_f32_fp16x3_mma, sm90_bf16_wgmma, sm90_f16_wgmma,
                 sm90_i8_i32_wgmma, sm90_f8e4m3_wgmma, sm90_f8e5m2_wgmma, sm90_f32_tf32_wgmma, sm80_bf16_mma,
                 sm80_f16_mma, sm80_i8_i32_mma, sm80_f32_bf16x6_mma, sm90_f64_mma, sm80_f64_mma, gemv, complex_f64_mma,
                 complex_f32_fp16x3_wgmma, complex_f32_fp16x3_split_a_wgmma, complex_f32_fp16x3_split_b_wgmma,
                 complex_f32_bf16x6_mma, complex_simt_f32, outer_product, short_sums, batched_small, cuda_naive,
                 cuda_naive_kahan, cuda_row_shared_kahan, cuda_row_shared_kahan_pitched, cuda_tiled_kahan, cuda_tiled,
                 cuda_register_blocked, cuda_vectorized, cuda_pipelined, cuda_warp_tiled, simt_f32, simt_f64,
                 simt_f32_sliced_k, simt_integer, simt_complex, simt_native, cuda_certified>;

}  // namespace

std::span<const plan::KernelEntry> kernel_list() { return All::entries(); }

std::span<const Kernel* const> kernels() { return All::kernels; }

}  // namespace exactile::cuda
