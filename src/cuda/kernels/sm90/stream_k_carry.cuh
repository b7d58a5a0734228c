// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums that one cluster leaves in memory for the next.
#pragma once

#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"
#include "cuda/tile/stream_k_carry.cuh"

namespace exactile::cuda::sm90 {

/// In the workspace, for each cluster, CTA and consumer warpgroup.
struct StreamKCarry {
  unsigned* ready;  ///< zero at first
  AccumulatorWord<float>* sums;

  static constexpr std::int64_t places = std::int64_t{cluster} * consumers;  ///< of a cluster
  static constexpr std::int64_t place_bytes = sizeof(Accumulators) * warpgroup_threads;

  /// The first of a thread's.
  [[nodiscard]] __device__ AccumulatorWord<float>* at(int place) const {
    constexpr std::int64_t words = place_bytes / sizeof(AccumulatorWord<float>);
    return sums + place * words + threadIdx.x % warpgroup_threads;
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

/// By a warpgroup, with a named barrier of its own.
__device__ inline void carry_out(const Accumulators& sums, const StreamKCarry& carry, int place, int barrier) {
  store_accumulators(sums, carry.at(place), warpgroup_threads);
  isa::named_barrier(barrier, warpgroup_threads);
  if (threadIdx.x % warpgroup_threads == 0) signal_ready(carry.ready[place]);
}

/// By a warpgroup, once the sums are there.
__device__ inline void carry_in(Accumulators& sums, const StreamKCarry& carry, int place) {
  wait_until_ready(carry.ready[place]);
  load_accumulators(sums, carry.at(place), warpgroup_threads);
}

}  // namespace exactile::cuda::sm90
