// SPDX-License-Identifier: Apache-2.0
// `sm90_bf16_wgmma`: bf16 products on the tensor cores of compute capability 9.0, summed in f32, C in bf16 or f32.
// Traffic model: a CTA reads 128 rows of A and its share of a cluster's columns of B for each tile; L2 serves most.
// Limit: the tensor cores, and power for large products. See docs/design/sm90_wgmma.md.
#include "cuda/kernels/sm90/native/gemm.cuh"
#include "cuda/kernels/sm90/sm90_kernels.hpp"

namespace exactile::cuda {
namespace {

constexpr GemmTypes types[] = {{ElementType::bf16, ElementType::bf16}, {ElementType::bf16, ElementType::f32}};

}  // namespace

namespace sm90::native {
template Status enqueue_tiles<__nv_bfloat16>(const Parameters<float>&, TileShape, Major, Major, int, cudaStream_t);
}  // namespace sm90::native

constexpr std::string_view summary = "bf16 on Hopper's tensor cores, summed in f32";

const Kernel sm90_bf16_wgmma = sm90::native::make_kernel<__nv_bfloat16>(types, summary);

}  // namespace exactile::cuda
