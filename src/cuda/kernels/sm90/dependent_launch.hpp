// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels that may be brought to the multiprocessors before the kernel ahead of them in the stream has ended. They
/// begin with isa::wait_for_kernel_before().
#pragma once

#include <cuda_runtime.h>

#include <utility>

namespace exactile::cuda::sm90 {

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
