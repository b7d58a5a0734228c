// SPDX-License-Identifier: Apache-2.0
/// \file
/// cluster_sync() in two halves (PTX barrier.cluster, sm_90): between them a thread does what concerns no other CTA.
#pragma once

namespace exactile::cuda::isa {

/// barrier.cluster.arrive, by whole warps.
__device__ inline void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }

/// barrier.cluster.wait, by whole warps that have arrived.
__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

}  // namespace exactile::cuda::isa
