// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a compiler must not keep from further up, and a cluster's barrier without its fence (sm_90).
#pragma once

namespace exactile::cuda::isa {

/// %tid.x, read here: in a loop, what is computed from it is computed in each round and takes no registers between.
[[nodiscard]] __device__ inline int thread_here() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

/// cluster_sync() that does not order memory: for barriers that mbarrier_init_fence() has made visible.
__device__ inline void cluster_sync_relaxed() {
  asm volatile(
      "barrier.cluster.arrive.relaxed.aligned;\n"
      "barrier.cluster.wait.aligned;" ::
          : "memory");
}

}  // namespace exactile::cuda::isa
