// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums that one cluster leaves in memory for the next, where the two share a tile; see tile_shares.hpp.
#pragma once

#include <cuda/atomic>

#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"

namespace exactile::cuda::sm90 {

/// In the workspace, for each cluster, CTA and multiplying warpgroup.
struct CarriedSums {
  unsigned* ready;  ///< zero at first
  float4* sums;

  static constexpr std::int64_t places = std::int64_t{cluster} * consumers;  ///< of a cluster
  static constexpr std::int64_t place_bytes = sizeof(Sums) * warpgroup_threads;
};

[[nodiscard]] __device__ inline int carried_place(int of_cluster, int rank, int warpgroup) {
  return (of_cluster * cluster + rank) * consumers + warpgroup;
}

__device__ inline void clear_sums(Sums& sums) {
#pragma unroll
  for (int f = 0; f < fragments; ++f)
#pragma unroll
    for (int i = 0; i < fragment_n / 2; ++i) sums[f][i] = 0;
}

/// The first of a thread's sums in a place; the others follow a warpgroup's threads apart.
[[nodiscard]] __device__ inline float4* carried_begin(const CarriedSums& carried, int place) {
  constexpr std::int64_t threads_sums = sizeof(Sums) / sizeof(float4);
  return carried.sums + place * threads_sums * warpgroup_threads + threadIdx.x % warpgroup_threads;
}

/// By a warpgroup, with a named barrier of its own.
__device__ inline void leave_sums(const Sums& sums, const CarriedSums& carried, int place, int barrier) {
  float4* to = carried_begin(carried, place);
#pragma unroll
  for (int f = 0; f < fragments; ++f)
#pragma unroll
    for (int i = 0; i < fragment_n / 2; i += 4, to += warpgroup_threads)
      *to = make_float4(sums[f][i], sums[f][i + 1], sums[f][i + 2], sums[f][i + 3]);
  isa::named_barrier(barrier, warpgroup_threads);
  if (threadIdx.x % warpgroup_threads == 0)
    ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device>(carried.ready[place])
        .store(1, ::cuda::memory_order_release);
}

/// By a warpgroup, once the sums are there.
__device__ inline void take_sums(Sums& sums, const CarriedSums& carried, int place) {
  const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> ready(carried.ready[place]);
  while (ready.load(::cuda::memory_order_acquire) == 0) __nanosleep(100);
  const float4* from = carried_begin(carried, place);
#pragma unroll
  for (int f = 0; f < fragments; ++f)
#pragma unroll
    for (int i = 0; i < fragment_n / 2; i += 4, from += warpgroup_threads) {
      const float4 four = __ldcg(from);
      sums[f][i] = four.x;
      sums[f][i + 1] = four.y;
      sums[f][i + 2] = four.z;
      sums[f][i + 3] = four.w;
    }
}

}  // namespace exactile::cuda::sm90
