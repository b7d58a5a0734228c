// SPDX-License-Identifier: Apache-2.0
// `sm90_i8_i32_wgmma`: i8 products on the tensor cores of compute capability 9.0, summed in i32, exact modulo 2^32. See
// docs/design/sm90_wgmma.md.
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/sm90/native/gemm.cuh"

namespace exactile::cuda {

namespace sm90::native {
template Status enqueue_tiles<std::int8_t>(const Parameters<std::int32_t>&, TileShape, Major, Major, int, cudaStream_t);
}  // namespace sm90::native

constexpr GemmTypes types[] = {{ElementType::i8, ElementType::i32}};

const Kernel sm90_i8_i32_wgmma =
    sm90::native::make_kernel<std::int8_t>(types, "i8 on Hopper's tensor cores, summed in i32");

}  // namespace exactile::cuda
