// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums that one cluster leaves in memory for the next, where the two share a tile; see stream_k.hpp.
#pragma once

#include <cuda/atomic>

#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"

namespace exactile::cuda::sm90 {

/// In the workspace, for each cluster, CTA and consumer warpgroup.
struct StreamKCarry {
  unsigned* ready;  ///< zero at first
  float4* sums;

  static constexpr std::int64_t places = std::int64_t{cluster} * consumers;  ///< of a cluster
  static constexpr std::int64_t place_bytes = sizeof(Accumulators) * warpgroup_threads;

  /// The first of a thread's. The others follow a warpgroup's words apart, so that neighbours write neighbouring words.
  [[nodiscard]] __device__ float4* at(int place) const {
    return sums + place * (place_bytes / static_cast<std::int64_t>(sizeof(float4))) + threadIdx.x % warpgroup_threads;
  }
};

[[nodiscard]] __device__ inline int carry_index(int of_cluster, int rank, int warpgroup) {
  return (of_cluster * cluster + rank) * consumers + warpgroup;
}

__device__ inline void clear_sums(Accumulators& sums) {
#pragma unroll
  for (int f = 0; f < fragments; ++f)
#pragma unroll
    for (int i = 0; i < fragment_n / 2; ++i) sums[f][i] = 0;
}

using CarryReady = ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device>;

/// By a warpgroup, with a named barrier of its own.
__device__ inline void carry_out(const Accumulators& sums, const StreamKCarry& carry, int place, int barrier) {
  float4* to = carry.at(place);
#pragma unroll
  for (int f = 0; f < fragments; ++f)
#pragma unroll
    for (int i = 0; i < fragment_n / 2; i += 4, to += warpgroup_threads)
      *to = make_float4(sums[f][i], sums[f][i + 1], sums[f][i + 2], sums[f][i + 3]);
  isa::named_barrier(barrier, warpgroup_threads);
  if (threadIdx.x % warpgroup_threads == 0) CarryReady(carry.ready[place]).store(1, ::cuda::memory_order_release);
}

/// By a warpgroup, once the sums are there: they come by way of L2.
__device__ inline void carry_in(Accumulators& sums, const StreamKCarry& carry, int place) {
  const CarryReady ready(carry.ready[place]);
  while (ready.load(::cuda::memory_order_acquire) == 0) __nanosleep(100);
  const float4* from = carry.at(place);
#pragma unroll
  for (int f = 0; f < fragments; ++f)
#pragma unroll
    for (int i = 0; i < fragment_n / 2; i += 4, from += warpgroup_threads) {
      const float4 word = __ldcg(from);
      sums[f][i] = word.x;
      sums[f][i + 1] = word.y;
      sums[f][i + 2] = word.z;
      sums[f][i + 3] = word.w;
    }
}

}  // namespace exactile::cuda::sm90
