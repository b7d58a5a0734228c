// SPDX-License-Identifier: Apache-2.0
/// \file
/// Cache hints: loads of what is read once, which L2 evicts first.
#pragma once

#include "cuda/isa/tma.cuh"

namespace exactile::cuda::isa {

/// createpolicy.fractional.L2::evict_first
[[nodiscard]] __device__ inline std::uint64_t evict_first() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

/// tma_load() with a policy.
__device__ inline void tma_load(std::uint32_t shared, const CUtensorMap* map, int x, int y, int z,
                                std::uint32_t barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "l"(policy)
      : "memory");
}
__device__ inline void tma_load(void* shared, const CUtensorMap* map, int x, int y, int z, std::uint64_t* barrier,
                                std::uint64_t policy) {
  tma_load(shared_address(shared), map, x, y, z, shared_address(barrier), policy);
}

}  // namespace exactile::cuda::isa
