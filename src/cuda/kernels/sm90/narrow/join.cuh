// SPDX-License-Identifier: Apache-2.0
/// \file
/// The sums of a tile whose K is divided among CTAs of a cluster.
#pragma once

#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/narrow/tile.cuh"

namespace exactile::cuda::sm90::narrow {

/// Adds the parts' sums in order: those of warpgroup w's rows in part w, which stores them. Whether this one does. The
/// ring must be at rest; called once in a kernel, beside one cluster_sync() of the warps that do not multiply.
template <class T>
[[nodiscard]] __device__ inline bool join_parts(typename T::Sum (&sums)[T::tile_n / 2], const Ring<T>& ring,
                                                const Peers& peers, int warpgroup) {
  struct alignas(16) Four {
    typename T::Sum x[4];
  };
  constexpr int fours = T::tile_n / 8;
  static_assert(T::consumers <= 2, "a part stores the rows of one warpgroup, and there may be two parts only");
  static_assert(sizeof(Stage<T>) >= T::consumers * warpgroup_threads * fours * sizeof(Four) / 3,
                "three stages hold it");
  const int thread = static_cast<int>(threadIdx.x) % warpgroup_threads;
  Four* const mine = reinterpret_cast<Four*>(ring.stage) + warpgroup * fours * warpgroup_threads + thread;
  const bool stores = peers.part == warpgroup;
  isa::named_barrier(1 + T::consumers, T::consumers * warpgroup_threads);  // nobody reads the ring any more
  if (!stores) {
#pragma unroll
    for (int i = 0; i < fours; ++i)
      mine[i * warpgroup_threads] = {sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]};
  }
  isa::cluster_sync();
  if (!stores) return false;
  for (int part = 0; part < peers.cluster.depth; ++part) {
    if (part == peers.part) continue;  // part 1 adds part 0 to its own, which is the same
    const Four* const theirs = isa::of_cta(mine, peers.rank + (part - peers.part) * peers.cluster.layer());
#pragma unroll
    for (int i = 0; i < fours; ++i) {
      const Four more = theirs[i * warpgroup_threads];
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[4 * i + e] = add(sums[4 * i + e], more.x[e]);
    }
  }
  return true;
}

}  // namespace exactile::cuda::sm90::narrow
