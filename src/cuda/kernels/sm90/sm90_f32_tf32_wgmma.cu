// SPDX-License-Identifier: Apache-2.0
// `sm90_f32_tf32_wgmma`: f32 cut to tf32 (11 significant bits) by the tensor cores of compute capability 9.0, summed in
// f32: for accuracy `reduced`. Limit: copies of operands that do not run along K. See docs/design/sm90_wgmma.md.
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm90/native/gemm.cuh"

namespace exactile::cuda {

namespace sm90::native {
template Status enqueue_tiles<float>(const Parameters<float>&, TileShape, Major, Major, int, cudaStream_t);
}  // namespace sm90::native

constexpr GemmTypes types[] = {{ElementType::f32, ElementType::f32}};

const Kernel sm90_f32_tf32_wgmma =
    sm90::native::make_kernel<float>(types, "f32 cut to tf32 on Hopper's tensor cores, for accuracy reduced");

}  // namespace exactile::cuda
