// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensor memory accelerator (PTX cp.async.bulk.tensor, sm_90): boxes of a tensor map, moved by one thread,
/// and contiguous bytes without one (cp.async.bulk).
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/isa/mbarrier.cuh"

namespace exactile::cuda::isa {

/// prefetch.tensormap
__device__ inline void tma_prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// cp.async.bulk.tensor.3d to this CTA's shared memory; its bytes are counted at `barrier`.
__device__ inline void tma_load(std::uint32_t shared, const CUtensorMap* map, int x, int y, int z,
                                std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}
__device__ inline void tma_load(void* shared, const CUtensorMap* map, int x, int y, int z, std::uint64_t* barrier) {
  tma_load(shared_address(shared), map, x, y, z, shared_address(barrier));
}

/// createpolicy.fractional.L2::evict_first: for loads of what is read once.
[[nodiscard]] __device__ inline std::uint64_t evict_first() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

/// tma_load() with such a policy.
__device__ inline void tma_load(std::uint32_t shared, const CUtensorMap* map, int x, int y, int z,
                                std::uint32_t barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "l"(policy)
      : "memory");
}

/// tma_load() with .multicast::cluster: to the same place in every CTA of `mask`, counted at the same barrier of each.
__device__ inline void tma_load_multicast(std::uint32_t shared, const CUtensorMap* map, int x, int y, int z,
                                          std::uint32_t barrier, std::uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(mask)
      : "memory");
}
__device__ inline void tma_load_multicast(void* shared, const CUtensorMap* map, int x, int y, int z,
                                          std::uint64_t* barrier, std::uint16_t mask) {
  tma_load_multicast(shared_address(shared), map, x, y, z, shared_address(barrier), mask);
}

/// cp.async.bulk.tensor.3d from shared memory; what lies outside the tensor is not written.
__device__ inline void tma_store(const CUtensorMap* map, int x, int y, int z, const void* shared) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
               "r"(y), "r"(z), "r"(shared_address(shared))
               : "memory");
}

/// cp.async.bulk.commit_group: closes this thread's group of stores.
__device__ inline void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// cp.async.bulk.wait_group.read: all but the newest `pending` groups of this thread have read their shared memory.
template <int pending>
__device__ inline void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

/// fence.proxy.async: shared memory written by this thread may be read by TMA and tensor cores after a barrier.
__device__ inline void async_proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// cp.async.bulk to this CTA's shared memory; places and `bytes` are multiples of 16. Counted at `barrier`.
__device__ inline void bulk_load(void* shared, const void* from, std::uint32_t bytes, std::uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(shared)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

/// fence.proxy.async.global: what this thread knows of in global memory may be read by asynchronous copies, and what
/// it has written.
__device__ inline void async_proxy_fence_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

}  // namespace exactile::cuda::isa
