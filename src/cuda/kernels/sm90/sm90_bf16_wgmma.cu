// SPDX-License-Identifier: Apache-2.0
// `sm90_bf16_wgmma`: bf16 products on the tensor cores of compute capability 9.0, summed in f32, C in bf16 or f32. See
// docs/design/sm90_wgmma.md.
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm90/native/gemm.cuh"

namespace exactile::cuda {

namespace sm90::native {
template Status enqueue_tiles<__nv_bfloat16>(const Parameters<float>&, TileShape, Major, Major, int, cudaStream_t);
}  // namespace sm90::native

constexpr GemmTypes types[] = {{ElementType::bf16, ElementType::bf16}, {ElementType::bf16, ElementType::f32}};

const Kernel sm90_bf16_wgmma =
    sm90::native::make_kernel<__nv_bfloat16>(types, "bf16 on Hopper's tensor cores, summed in f32");

}  // namespace exactile::cuda
