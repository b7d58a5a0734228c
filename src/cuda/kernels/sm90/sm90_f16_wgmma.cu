// SPDX-License-Identifier: Apache-2.0
// `sm90_f16_wgmma`: f16 and 8-bit float products on the tensor cores of compute capability 9.0, summed in f32, C in
// f16, bf16 or f32. 8-bit floats become f16, exactly: the instructions for them keep too few bits for `standard`. See
// docs/design/sm90_wgmma.md.
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm90/native/gemm.cuh"

namespace exactile::cuda {

namespace sm90::native {
template Status enqueue_tiles<__half>(const Parameters<float>&, TileShape, Major, Major, int, cudaStream_t);
}  // namespace sm90::native

constexpr GemmTypes types[] = {{ElementType::f16, ElementType::f16},    {ElementType::f16, ElementType::f32},
                               {ElementType::f8e4m3, ElementType::f32}, {ElementType::f8e4m3, ElementType::bf16},
                               {ElementType::f8e5m2, ElementType::f32}, {ElementType::f8e5m2, ElementType::bf16}};

const Kernel sm90_f16_wgmma =
    sm90::native::make_kernel<__half>(types, "f16, and 8-bit floats as f16, on Hopper's tensor cores, summed in f32");

}  // namespace exactile::cuda
