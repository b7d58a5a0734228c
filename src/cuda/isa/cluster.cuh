// SPDX-License-Identifier: Apache-2.0
/// \file
/// Clusters of CTAs (sm_90): which one this is, and stores to another CTA's shared memory that are counted there.
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

/// Where CTA `rank` of the cluster has what this CTA has at `pointer` in shared memory.
[[nodiscard]] __device__ inline std::uint32_t shared_address_in(const void* pointer, int rank) {
  return mapa(shared_address(pointer), static_cast<std::uint32_t>(rank));
}

/// st.async: 16 bytes to another CTA's shared memory, counted at a barrier there. Needs no fence, which between CTAs
/// waits for all of a thread's writes to global memory too.
__device__ inline void store_async(std::uint32_t to, const std::uint32_t (&x)[4], std::uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
               "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(barrier)
               : "memory");
}

}  // namespace exactile::cuda::isa
