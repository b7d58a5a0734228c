// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernels/sm90/slices.cuh"

namespace exactile::cuda::sm90 {

/// The slices of a product that is computed as C^T = B^T A^T: the caller's A comes second, and products of slices are
/// summed in the order that they have where it comes first. So the layout of C changes no bit.
template <class Slices>
struct TransposedSlices : Slices {
  [[nodiscard]] __host__ __device__ static constexpr SlicePair product(int i) {
    const SlicePair pair = Slices::product(i);
    return {pair.b, pair.a};
  }
};

}  // namespace exactile::cuda::sm90
