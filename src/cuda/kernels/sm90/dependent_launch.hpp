// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches: of kernels that may be brought to the multiprocessors before the kernel ahead of them in the stream has
/// ended (they begin with isa::wait_for_kernel_before()), and of kernels with much shared memory.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace exactile::cuda::sm90 {

/// Lets a kernel have that much dynamic shared memory: once for each device, whichever is current.
template <auto kernel>
cudaError_t allow_shared_bytes(int bytes) {
  static std::atomic<std::uint64_t> done{0};
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  const std::uint64_t bit = std::uint64_t{1} << device % 64;
  if ((done & bit) != 0) return cudaSuccess;
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error == cudaSuccess && device < 64) done |= bit;
  return error;
}

template <class... Parameters, class... Arguments>
cudaError_t enqueue_dependent(void (*kernel)(Parameters...), unsigned ctas, unsigned threads, std::size_t shared_bytes,
                              cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = ctas;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

}  // namespace exactile::cuda::sm90
