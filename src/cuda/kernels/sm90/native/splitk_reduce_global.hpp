// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/kernels/sm90/native/output.cuh"

namespace exactile::cuda::sm90::native {

/// Enqueues C <- epilogue(sum over K slices, in their order, of partial[product][k_slice][i][j]); rows of `pitch`
/// elements.
template <class Accumulator>
cudaError_t enqueue_splitk_reduce(const Accumulator* partial, std::int64_t pitch, int split_k, std::int64_t products,
                                  const Output<Accumulator>& c, cudaStream_t stream);

}  // namespace exactile::cuda::sm90::native
