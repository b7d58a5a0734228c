// SPDX-License-Identifier: Apache-2.0
/// \file
/// The second chance of products that f16 slices cannot hold.
#pragma once

#include "cuda/kernels/sm90/f32_sliced.cuh"

namespace exactile::cuda::sm90 {

/// Enqueues what computes the elements that the main pass has left: nothing is done where it has left none. The slices
/// are overwritten; the scales' maxima stay. `is_transposed`: A and B have changed places.
[[nodiscard]] Status enqueue_fixup(GemmParameters parameters, bool is_transposed, unsigned* a_underflows,
                                   unsigned* b_underflows, const Device& device, cudaStream_t stream);

}  // namespace exactile::cuda::sm90
