// SPDX-License-Identifier: Apache-2.0
// `cuda_pipelined`: `cuda_vectorized` with copies that pass no register (cp.async) into a pipeline of three stages: two
// steps are on their way while one is computed, and a step has one barrier.
// Traffic model: as cuda_vectorized. Limit: the arithmetic. See docs/ladder/cuda_pipelined.md.
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/ladder/pipeline_kernel.cuh"

namespace exactile::cuda {
namespace {

using namespace vector_tile;

constexpr std::string_view name = "cuda_pipelined";

/// Threads row by row: a warp has 2 x 16 squares.
struct RowByRow {
  static __device__ int y() { return static_cast<int>(threadIdx.x) / 16; }
  static __device__ int x() { return static_cast<int>(threadIdx.x) % 16; }
};

}  // namespace

const Kernel cuda_pipelined{.name = name,
                            .role = "ladder",
                            .summary = "cuda_vectorized with asynchronous copies, three stages",
                            .types = types,
                            .refuses = refuses,
                            .candidates = one_candidate,
                            .make = [](const plan::Problem& p, const Device&, const Configuration&) {
                              return prepare(p, pipeline_kernel<RowByRow, float>,
                                             pipeline_kernel<RowByRow, std::int32_t>, name);
                            }};

}  // namespace exactile::cuda
