// SPDX-License-Identifier: Apache-2.0
/// \file
/// Warps among themselves (sm_90): registers moved between warpgroups, barriers of some warps; kernels that start
/// before the one before them has ended. Clusters of CTAs: cluster.cuh.
#pragma once

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

/// griddepcontrol.wait: all that the kernels before this one wrote is there.
__device__ inline void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/// griddepcontrol.launch_dependents: the next kernel may start where there is room.
__device__ inline void start_kernel_after() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

}  // namespace exactile::cuda::isa
