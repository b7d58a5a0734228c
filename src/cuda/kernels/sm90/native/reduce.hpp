// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/kernels/sm90/native/output.cuh"

namespace exactile::cuda::sm90::native {

/// Enqueues C <- epilogue(sum over chunks, in their order, of partial[product][chunk][i][j]); rows of `pitch` elements.
template <class Sum>
cudaError_t enqueue_reduce(const Sum* partial, std::int64_t pitch, int chunks, std::int64_t products,
                           const Output<Sum>& c, cudaStream_t stream);

}  // namespace exactile::cuda::sm90::native
