// SPDX-License-Identifier: Apache-2.0
// `sm90_f32_tf32_wgmma`: f32 cut to tf32 (11 significant bits) by the tensor cores of compute capability 9.0, summed in
// f32: for accuracy `reduced`. Traffic model: a CTA reads 128 rows of A and its share of a cluster's columns of B for
// each tile; L2 serves most. Limit: the tensor cores, and copies of operands that do not run along K. See
// docs/design/sm90_wgmma.md.
#include "cuda/kernels/sm90/native/gemm.cuh"
#include "cuda/kernels/sm90/sm90_kernels.hpp"

namespace exactile::cuda {
namespace {

constexpr GemmTypes types[] = {{ElementType::f32, ElementType::f32}};

}  // namespace

namespace sm90::native {
template Status enqueue_tiles<float>(const Parameters<float>&, TileShape, Major, Major, int, cudaStream_t);
}  // namespace sm90::native

constexpr std::string_view summary = "f32 cut to tf32 on Hopper's tensor cores, for accuracy reduced";

const Kernel sm90_f32_tf32_wgmma = sm90::native::make_kernel<float>(types, summary);

}  // namespace exactile::cuda
