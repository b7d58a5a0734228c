// SPDX-License-Identifier: Apache-2.0
// `sm90_bf16_wgmma`: bf16 products on the tensor cores of compute capability 9.0, summed in f32, C in bf16 or f32.
// Traffic model: a CTA reads 128 rows of A and its share of a cluster's columns of B for each tile; L2 serves most.
// Limit: the tensor cores, and power for large products. See docs/ladder/sm90_wgmma.md.
#include "cuda/kernels/sm90/narrow/gemm.cuh"
#include "cuda/kernels/sm90/sm90_kernels.hpp"

namespace exactile::cuda {
namespace {

constexpr GemmTypes types[] = {{ElementType::bf16, ElementType::bf16}, {ElementType::bf16, ElementType::f32}};

}  // namespace

namespace sm90::narrow {
template Status enqueue_tiles<__nv_bfloat16>(const Parameters<float>&, TileShape, Major, Major, int, std::string_view,
                                             cudaStream_t);
}  // namespace sm90::narrow

constexpr std::string_view summary = "bf16 on Hopper's tensor cores, summed in f32";

const Kernel sm90_bf16_wgmma_128x256 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 256>(types, summary);
const Kernel sm90_bf16_wgmma_192x192 = sm90::narrow::make_kernel<__nv_bfloat16, 192, 192>(types, summary);
const Kernel sm90_bf16_wgmma_192x144 = sm90::narrow::make_kernel<__nv_bfloat16, 192, 144>(types, summary);
const Kernel sm90_bf16_wgmma_128x192 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 192>(types, summary);
const Kernel sm90_bf16_wgmma_128x160 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 160>(types, summary);
const Kernel sm90_bf16_wgmma_128x128 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 128>(types, summary);
const Kernel sm90_bf16_wgmma_128x64 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 64>(types, summary);
const Kernel sm90_bf16_wgmma_64x40 = sm90::narrow::make_kernel<__nv_bfloat16, 64, 40>(types, summary);
const Kernel sm90_bf16_wgmma_64x16 = sm90::narrow::make_kernel<__nv_bfloat16, 64, 16>(types, summary);
const Kernel sm90_bf16_wgmma_128x16 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 16>(types, summary);
const Kernel sm90_bf16_wgmma_128x256_k2 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 256, 2>(types, summary);
const Kernel sm90_bf16_wgmma_128x128_k2 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 128, 2>(types, summary);
const Kernel sm90_bf16_wgmma_128x128_k4 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 128, 4>(types, summary);
const Kernel sm90_bf16_wgmma_64x128 = sm90::narrow::make_kernel<__nv_bfloat16, 64, 128>(types, summary);
const Kernel sm90_bf16_wgmma_64x64 = sm90::narrow::make_kernel<__nv_bfloat16, 64, 64>(types, summary);
const Kernel sm90_bf16_wgmma_128x96_k2 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 96, 2>(types, summary);
const Kernel sm90_bf16_wgmma_64x96_k2 = sm90::narrow::make_kernel<__nv_bfloat16, 64, 96, 2>(types, summary);
const Kernel sm90_bf16_wgmma_64x48_k2 = sm90::narrow::make_kernel<__nv_bfloat16, 64, 48, 2>(types, summary);
const Kernel sm90_bf16_wgmma_64x32_k4 = sm90::narrow::make_kernel<__nv_bfloat16, 64, 32, 4>(types, summary);
const Kernel sm90_bf16_wgmma_128x256_c64 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 256, 1, 64>(types, summary);
const Kernel sm90_bf16_wgmma_128x160_c32 = sm90::narrow::make_kernel<__nv_bfloat16, 128, 160, 1, 32>(types, summary);
const Kernel sm90_bf16_wgmma_64x128_c32 = sm90::narrow::make_kernel<__nv_bfloat16, 64, 128, 1, 32>(types, summary);
const Kernel sm90_bf16_wgmma_64x64_c32 = sm90::narrow::make_kernel<__nv_bfloat16, 64, 64, 1, 32>(types, summary);

}  // namespace exactile::cuda
