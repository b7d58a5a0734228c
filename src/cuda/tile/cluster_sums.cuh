// SPDX-License-Identifier: Apache-2.0
/// \file
/// What CTAs of a cluster add up: each reads the others' shared memory between two barriers. Compiled for less than
/// sm_90, which has no clusters, a CTA is by itself.
#pragma once

#include "cuda/isa/cluster.cuh"

namespace exactile::cuda {

/// What the CTA of that rank in the cluster has where this one has `pointer`.
template <class T>
[[nodiscard]] __device__ inline const T* in_cta(const T* pointer, int rank) {
#if __CUDA_ARCH__ >= 900
  return isa::of_cta(pointer, rank);
#else
  return pointer;
#endif
}

__device__ inline void cluster_barrier() {
#if __CUDA_ARCH__ >= 900
  isa::cluster_sync();
#endif
}

/// Before a CTA leaves: no other still reads its sums. It orders no memory, but a thread arrives after it has issued
/// the stores of what its reads became, in whatever branch, so the reads are over. Where some reads may be of no use
/// (sm80's and dmma's tiles beyond C), cluster_barrier() waits for them.
__device__ inline void leave_cluster() {
#if __CUDA_ARCH__ >= 900
  isa::cluster_sync_relaxed();
#endif
}

}  // namespace exactile::cuda
