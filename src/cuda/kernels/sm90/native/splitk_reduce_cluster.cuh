// SPDX-License-Identifier: Apache-2.0
/// \file
/// Split-K within a cluster: the sums of a tile whose K is divided among its CTAs.
#pragma once

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/opaque.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/native/tile.cuh"

namespace exactile::cuda::sm90::native {

/// Barriers of the reduction, in each CTA: two, each for one phase.
struct ReduceBarriers {
  std::uint64_t at_rest;  ///< nobody reads the other CTAs' pipelines any more
  std::uint64_t arrived;  ///< the other CTAs' sums are here
};

/// How sums travel: each CTA gets those of its share of the columns.
template <class T>
struct ReducePayload {
  static constexpr int fours = T::Stored::tile_n / 8;  ///< words of 16 bytes of a thread
  static constexpr int words = fours * T::consumers * warpgroup_threads;
  static constexpr int bytes = 16 * words;
  static_assert((T::cluster_k - 1) * bytes <= 4 * sizeof(Stage<T>), "four stages hold what arrives");
};

/// By one thread, before all CTAs of the cluster meet.
template <class T>
__device__ inline void initialise(ReduceBarriers& reduce_barriers) {
  isa::mbarrier_init(&reduce_barriers.at_rest, (T::cluster_k - 1) * T::consumer_warps);
  isa::mbarrier_init(&reduce_barriers.arrived, 1);
  isa::mbarrier_arrive_expect(&reduce_barriers.arrived, (T::cluster_k - 1) * ReducePayload<T>::bytes);
  isa::mbarrier_init_fence();
}

/// Adds the partial sums in order, each CTA those of its share of the columns: CTA p along K the tile's p-th. What is
/// for another CTA is stored into its pipeline, where its loads and products have ended. Once in a kernel.
template <class T>
__device__ inline void splitk_reduce_cluster(typename T::Accumulator (&reduced)[T::Stored::tile_n / 2],
                                             const typename T::Accumulator (&sums)[T::tile_n / 2],
                                             const Pipeline<T>& pipeline, ReduceBarriers& reduce_barriers,
                                             const Peers& peers) {
  struct alignas(16) Four {
    typename T::Accumulator x[4];
  };
  using P = ReducePayload<T>;
  constexpr int others = T::cluster_k - 1;
  constexpr int threads = T::consumers * warpgroup_threads;
  const int thread = isa::opaque_thread();
  const int lane = thread % 32;
  Four* const mine = reinterpret_cast<Four*>(pipeline.stage) + thread;
  const auto rank_of = [&](int k_slice) { return peers.rank + (k_slice - peers.k_rank) * peers.cluster.layer(); };
  // The other slices, and this one among them, in order.
  const auto other_slice = [](int index, int k_slice) { return index + (index >= k_slice ? 1 : 0); };
  if (lane < others) isa::mbarrier_arrive_remote(&reduce_barriers.at_rest, rank_of(other_slice(lane, peers.k_rank)));
  isa::mbarrier_wait(&reduce_barriers.at_rest, 0);
#pragma unroll
  for (int k_slice = 0; k_slice < T::cluster_k; ++k_slice) {
    const auto* const share = &sums[4 * k_slice * P::fours];
    if (k_slice == peers.k_rank) {
#pragma unroll
      for (int i = 0; i < 4 * P::fours; ++i) reduced[i] = share[i];
    } else {
      const int index = peers.k_rank - (peers.k_rank > k_slice ? 1 : 0);
      const std::uint32_t to = isa::shared_address_in(mine + index * P::words, rank_of(k_slice));
      const std::uint32_t barrier = isa::shared_address_in(&reduce_barriers.arrived, rank_of(k_slice));
#pragma unroll
      for (int i = 0; i < P::fours; ++i) {
        std::uint32_t bits[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) bits[e] = __builtin_bit_cast(std::uint32_t, share[4 * i + e]);
        isa::store_async(to + i * threads * sizeof(Four), bits, barrier);
      }
    }
  }
  isa::mbarrier_wait(&reduce_barriers.arrived, 0);
#pragma unroll
  for (int i = 0; i < P::fours; ++i) {
    Four theirs[others];
#pragma unroll
    for (int other = 0; other < others; ++other) theirs[other] = mine[other * P::words + i * threads];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const auto own = reduced[4 * i + e];
      auto total = peers.k_rank == 0 ? own : theirs[0].x[e];
#pragma unroll
      for (int k_slice = 1; k_slice < T::cluster_k; ++k_slice) {
        auto next = own;
        if (k_slice < others) next = k_slice < peers.k_rank ? theirs[k_slice].x[e] : next;
        next = k_slice > peers.k_rank ? theirs[k_slice - 1].x[e] : next;
        total = add(total, next);
      }
      reduced[4 * i + e] = total;
    }
  }
}

}  // namespace exactile::cuda::sm90::native
