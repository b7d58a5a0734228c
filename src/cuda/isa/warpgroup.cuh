// SPDX-License-Identifier: Apache-2.0
/// \file
/// Warps among themselves (sm_90): registers moved between warpgroups, barriers of some warps, clusters of CTAs,
/// kernels that start before the one before them has ended.
#pragma once

#include <cstdint>

namespace exactile::cuda::isa {

/// setmaxnreg.inc: this warpgroup takes registers from the CTA's pool until it has `count`. Sum over the warpgroups
/// must not exceed what the launch allocated, or this waits for ever.
template <int count>
__device__ inline void registers_take() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/// setmaxnreg.dec
template <int count>
__device__ inline void registers_give() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

/// bar.sync: barrier `id` (1 to 15; 0 is __syncthreads) of `threads` threads.
__device__ inline void named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// bar.arrive: counts as one of those threads and does not wait.
__device__ inline void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// %cluster_ctarank
[[nodiscard]] __device__ inline std::uint32_t cluster_rank() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// barrier.cluster.arrive and .wait: all threads of all CTAs of the cluster.
__device__ inline void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

/// cluster_sync() that does not order memory: for barriers that mbarrier_init_fence() has made visible.
__device__ inline void cluster_sync_relaxed() {
  asm volatile(
      "barrier.cluster.arrive.relaxed.aligned;\n"
      "barrier.cluster.wait.aligned;" ::
          : "memory");
}

/// mapa: where CTA `rank` of the cluster has what this CTA has at `pointer` in shared memory.
template <class T>
[[nodiscard]] __device__ inline T* of_cta(T* pointer, int rank) {
  std::uint64_t there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(pointer), "r"(rank));
  return reinterpret_cast<T*>(there);
}

/// griddepcontrol.wait: all that the kernels before this one wrote is there.
__device__ inline void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/// griddepcontrol.launch_dependents: the next kernel may start where there is room.
__device__ inline void start_kernel_after() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

}  // namespace exactile::cuda::isa
