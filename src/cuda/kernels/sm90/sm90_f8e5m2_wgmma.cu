// SPDX-License-Identifier: Apache-2.0
// `sm90_f8e5m2_wgmma`: f8e5m2 products on the tensor cores of compute capability 9.0, whose sums keep 13 bits, in f32
// from 128 of K to the next: for accuracy `reduced`. Limit: shared memory, and power. See docs/design/sm90_wgmma.md.
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm90/native/gemm.cuh"

namespace exactile::cuda {

namespace sm90::native {
template Status enqueue_tiles<__nv_fp8_e5m2>(const Parameters<float>&, TileShape, Major, Major, int, cudaStream_t);
}  // namespace sm90::native

constexpr GemmTypes types[] = {{ElementType::f8e5m2, ElementType::f32}, {ElementType::f8e5m2, ElementType::bf16}};

const Kernel sm90_f8e5m2_wgmma =
    sm90::native::make_kernel<__nv_fp8_e5m2>(types, "f8e5m2 as it is on Hopper's tensor cores, for accuracy reduced");

}  // namespace exactile::cuda
