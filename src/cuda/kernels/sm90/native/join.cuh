// SPDX-License-Identifier: Apache-2.0
/// \file
/// The sums of a tile whose K is divided among CTAs of a cluster.
#pragma once

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/here.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/native/tile.cuh"

namespace exactile::cuda::sm90::native {

/// Where the parts of a tile meet: two barriers, each for one phase.
struct Meeting {
  std::uint64_t at_rest;  ///< nobody reads the other parts' rings any more
  std::uint64_t arrived;  ///< the other parts' sums are here
};

/// How sums travel: those of a part's columns go to that part.
template <class T>
struct Parcel {
  static constexpr int fours = T::Stored::tile_n / 8;  ///< words of 16 bytes of a thread
  static constexpr int words = fours * T::consumers * warpgroup_threads;
  static constexpr int bytes = 16 * words;
  static_assert((T::depth - 1) * bytes <= 4 * sizeof(Stage<T>), "four stages hold what arrives");
};

/// By one thread, before all CTAs of the cluster meet.
template <class T>
__device__ inline void initialise(Meeting& meeting) {
  isa::mbarrier_init(&meeting.at_rest, (T::depth - 1) * T::consumer_warps);
  isa::mbarrier_init(&meeting.arrived, 1);
  isa::mbarrier_arrive_expect(&meeting.arrived, (T::depth - 1) * Parcel<T>::bytes);
  isa::mbarrier_init_fence();
}

/// Adds the parts' sums in order, each part those of its share of the columns: part p of the tile's p-th. What is for
/// another part is stored into its ring, where its loads and products have ended. Once in a kernel.
template <class T>
__device__ inline void join_parts(typename T::Sum (&joined)[T::Stored::tile_n / 2],
                                  const typename T::Sum (&sums)[T::tile_n / 2], const Ring<T>& ring, Meeting& meeting,
                                  const Peers& peers) {
  struct alignas(16) Four {
    typename T::Sum x[4];
  };
  using P = Parcel<T>;
  constexpr int others = T::depth - 1;
  constexpr int threads = T::consumers * warpgroup_threads;
  const int thread = isa::thread_here();
  const int lane = thread % 32;
  Four* const mine = reinterpret_cast<Four*>(ring.stage) + thread;
  const auto rank_of = [&](int part) { return peers.rank + (part - peers.part) * peers.cluster.layer(); };
  // The other parts, and this one in them, in order.
  const auto other_part = [](int index, int part) { return index + (index >= part ? 1 : 0); };
  if (lane < others) isa::mbarrier_arrive_remote(&meeting.at_rest, rank_of(other_part(lane, peers.part)));
  isa::mbarrier_wait(&meeting.at_rest, 0);
#pragma unroll
  for (int part = 0; part < T::depth; ++part) {
    const auto* const share = &sums[4 * part * P::fours];
    if (part == peers.part) {
#pragma unroll
      for (int i = 0; i < 4 * P::fours; ++i) joined[i] = share[i];
    } else {
      const int index = peers.part - (peers.part > part ? 1 : 0);
      const std::uint32_t to = isa::shared_address_in(mine + index * P::words, rank_of(part));
      const std::uint32_t barrier = isa::shared_address_in(&meeting.arrived, rank_of(part));
#pragma unroll
      for (int i = 0; i < P::fours; ++i) {
        std::uint32_t bits[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) bits[e] = __builtin_bit_cast(std::uint32_t, share[4 * i + e]);
        isa::store_async(to + i * threads * sizeof(Four), bits, barrier);
      }
    }
  }
  isa::mbarrier_wait(&meeting.arrived, 0);
#pragma unroll
  for (int i = 0; i < P::fours; ++i) {
    Four theirs[others];
#pragma unroll
    for (int other = 0; other < others; ++other) theirs[other] = mine[other * P::words + i * threads];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const auto own = joined[4 * i + e];
      auto total = peers.part == 0 ? own : theirs[0].x[e];
#pragma unroll
      for (int part = 1; part < T::depth; ++part) {
        auto next = own;
        if (part < others) next = part < peers.part ? theirs[part].x[e] : next;
        next = part > peers.part ? theirs[part - 1].x[e] : next;
        total = add(total, next);
      }
      joined[4 * i + e] = total;
    }
  }
}

}  // namespace exactile::cuda::sm90::native
