// SPDX-License-Identifier: Apache-2.0
/// \file
/// Clusters of CTAs (sm_90): which one this is, barriers of all their threads, places in another CTA's shared memory,
/// arrivals at barriers there and stores that are counted there.
#pragma once

#include <cstdint>

#include "cuda/isa/mbarrier.cuh"

namespace exactile::cuda::isa {

/// %clusterid.x
[[nodiscard]] __device__ inline int cluster_index() {
  int index;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(index));
  return index;
}

/// %nclusterid.x
[[nodiscard]] __device__ inline int cluster_count() {
  int count;
  asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(count));
  return count;
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

/// cluster_sync() in two halves, each by whole warps: between them a thread does what concerns no other CTA.
__device__ inline void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/// cluster_sync() that does not order memory: for barriers that mbarrier_init_fence() has made visible, and for the
/// end.
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

/// mapa.shared::cluster: the same for a 32-bit address.
[[nodiscard]] __device__ inline std::uint32_t mapa(std::uint32_t place, std::uint32_t rank) {
  std::uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place), "r"(rank));
  return there;
}
[[nodiscard]] __device__ inline std::uint32_t shared_address_in(const void* pointer, int rank) {
  return mapa(shared_address(pointer), static_cast<std::uint32_t>(rank));
}

/// mbarrier.arrive.shared::cluster at what mapa() gave. Without .release.cluster, which costs a third of the tensor
/// cores' time: use where only asynchronous reads are handed over.
__device__ inline void mbarrier_arrive_there(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// The same at the same barrier in CTA `rank` of the cluster.
__device__ inline void mbarrier_arrive_remote(std::uint64_t* barrier, std::uint32_t rank) {
  mbarrier_arrive_there(mapa(shared_address(barrier), rank));
}

/// st.shared::cluster at what shared_address_in() gave.
__device__ inline void store_there(std::uint32_t to, float2 x) {
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(x.x), "f"(x.y) : "memory");
}

/// st.async: 16 bytes to another CTA's shared memory, counted at a barrier there. Needs no fence, which between CTAs
/// waits for all of a thread's writes to global memory too.
__device__ inline void store_async(std::uint32_t to, const std::uint32_t (&x)[4], std::uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
               "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(barrier)
               : "memory");
}

}  // namespace exactile::cuda::isa
