// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels that are launched while the one before them in the stream still runs (programmatic dependent launch).
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/isa/warpgroup.cuh"

namespace exactile::cuda {

/// In a kernel: the next one may start where there is room. Before sm_90 it does not.
__device__ inline void start_kernel_after() {
#if __CUDA_ARCH__ >= 900
  isa::start_kernel_after();
#endif
}

/// In a kernel: all that the kernels before this one wrote is there.
__device__ inline void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  isa::wait_for_kernel_before();
#endif
}

/// Whether what this file's kernels run as on sm_90 and later waits: code compiled for less does not.
inline constexpr bool waits_for_kernel_before = [] {
  for (const int architecture : {__CUDA_ARCH_LIST__})
    if (architecture >= 900) return true;
  return false;
}();

/// Launches `kernel` in clusters of a size that is not known to the compiler, from sm_90 on; a cluster of one CTA is
/// none, as a launch without takes the host less time. Where it can start early, on devices that do, its CTAs may start
/// where the kernel before it has left room and has called start_kernel_after(): it must then call
/// wait_for_kernel_before() before it touches memory that others use.
template <class... Parameters, class... Arguments>
cudaError_t launch_clusters(bool can_start_early, int cluster, void (*kernel)(Parameters...), dim3 grid,
                            unsigned threads, std::size_t shared_bytes, cudaStream_t stream,
                            const Arguments&... arguments) {
  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  if (can_start_early && waits_for_kernel_before) {
    cudaLaunchAttribute& early = attributes[config.numAttrs++];
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    cudaLaunchAttribute& clustered = attributes[config.numAttrs++];
    clustered.id = cudaLaunchAttributeClusterDimension;
    clustered.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  }
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/// The same without clusters.
template <class... Parameters, class... Arguments>
cudaError_t launch_early(bool can, void (*kernel)(Parameters...), dim3 grid, unsigned threads, std::size_t shared_bytes,
                         cudaStream_t stream, const Arguments&... arguments) {
  return launch_clusters(can, 1, kernel, grid, threads, shared_bytes, stream, arguments...);
}

}  // namespace exactile::cuda
