// SPDX-License-Identifier: Apache-2.0
/// \file
/// The second chance of products that f16 slices cannot hold.
#pragma once

#include "cuda/kernels/sm90/f32_sliced.cuh"

namespace exactile::cuda::sm90 {

/// Enqueues what computes the elements that the kernel before has left: nothing is done where it has left none.
/// The slices are overwritten; the facts' maxima stay.
[[nodiscard]] Status enqueue_leftovers(GemmParameters parameters, unsigned* a_tiny, unsigned* b_tiny,
                                       const Device& device, cudaStream_t stream);

}  // namespace exactile::cuda::sm90
