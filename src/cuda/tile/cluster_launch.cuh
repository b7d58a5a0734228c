// SPDX-License-Identifier: Apache-2.0
/// \file
/// launch_early() with clusters of a size that is not known to the compiler.
#pragma once

#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda {

/// The grid is a multiple of `cluster`; from sm_90 on. A launch without clusters takes the host less time, so clusters
/// of one CTA are none.
template <class... Parameters, class... Arguments>
cudaError_t launch_clusters(int cluster, void (*kernel)(Parameters...), unsigned ctas, unsigned threads,
                            std::size_t shared_bytes, cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = cluster > 1 ? 2 : 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace exactile::cuda
