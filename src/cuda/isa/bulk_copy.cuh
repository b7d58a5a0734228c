// SPDX-License-Identifier: Apache-2.0
/// \file
/// Contiguous bytes moved by one thread without a tensor map (PTX cp.async.bulk, sm_90).
#pragma once

#include "cuda/isa/mbarrier.cuh"

namespace exactile::cuda::isa {

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
