// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pairs of words that CTAs of a cluster hand over while loads from global memory are on their way, for which the
/// release of cluster_arrive() would wait.
#pragma once

#include "cuda/isa/cluster.cuh"

namespace exactile::cuda::isa {

/// st.async: two words to another CTA's shared memory, counted at a barrier there.
__device__ inline void store_async(std::uint32_t to, float2 x, std::uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to), "f"(x.x),
               "f"(x.y), "r"(barrier)
               : "memory");
}

}  // namespace exactile::cuda::isa
