// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums that one cluster leaves in memory for the next.
#pragma once

#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"
#include "cuda/tile/carried_sums.cuh"

namespace exactile::cuda::sm90 {

/// In the workspace, for each cluster, CTA and multiplying warpgroup.
struct CarriedSums {
  unsigned* ready;  ///< zero at first
  SumWord<float>* sums;

  static constexpr std::int64_t places = std::int64_t{cluster} * consumers;  ///< of a cluster
  static constexpr std::int64_t place_bytes = sizeof(Sums) * warpgroup_threads;

  /// The first of a thread's.
  [[nodiscard]] __device__ SumWord<float>* at(int place) const {
    constexpr std::int64_t words = place_bytes / sizeof(SumWord<float>);
    return sums + place * words + threadIdx.x % warpgroup_threads;
  }
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

/// By a warpgroup, with a named barrier of its own.
__device__ inline void leave_sums(const Sums& sums, const CarriedSums& carried, int place, int barrier) {
  write_sums(sums, carried.at(place), warpgroup_threads);
  isa::named_barrier(barrier, warpgroup_threads);
  if (threadIdx.x % warpgroup_threads == 0) announce(carried.ready[place]);
}

/// By a warpgroup, once the sums are there.
__device__ inline void take_sums(Sums& sums, const CarriedSums& carried, int place) {
  await(carried.ready[place]);
  read_sums(sums, carried.at(place), warpgroup_threads);
}

}  // namespace exactile::cuda::sm90
