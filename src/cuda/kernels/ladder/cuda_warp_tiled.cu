// SPDX-License-Identifier: Apache-2.0
// `cuda_warp_tiled`: `cuda_pipelined` with the threads of a warp on a patch of 4 x 8 squares instead of a strip of
// 2 x 16: for one term it reads 4 + 8 different vectors where the strip reads 2 + 16, and each of its loads is served
// at once, without a conflict of banks. Traffic model: as cuda_vectorized. Limit: the arithmetic. See
// docs/ladder/cuda_pipelined.md.
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/ladder/pipeline_kernel.cuh"

namespace exactile::cuda {
namespace {

using namespace vector_tile;

constexpr std::string_view name = "cuda_warp_tiled";

/// The block's eight warps are 4 x 2, and a warp's threads 4 x 8.
struct Patches {
  static __device__ int y() { return static_cast<int>(threadIdx.x) / 64 * 4 + static_cast<int>(threadIdx.x) % 32 / 8; }
  static __device__ int x() { return static_cast<int>(threadIdx.x) / 32 % 2 * 8 + static_cast<int>(threadIdx.x) % 8; }
};

}  // namespace

const Kernel cuda_warp_tiled{.name = name,
                             .role = "ladder",
                             .summary = "cuda_pipelined with square patches of C for warps",
                             .types = types,
                             .refuses = refuses,
                             .candidates = one_candidate,
                             .make = [](const plan::Problem& p, const Device&, const Configuration&) {
                               return prepare(p, pipeline_kernel<Patches, float>,
                                              pipeline_kernel<Patches, std::int32_t>, name);
                             }};

}  // namespace exactile::cuda
