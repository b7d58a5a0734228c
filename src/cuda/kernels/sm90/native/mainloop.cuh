// SPDX-License-Identifier: Apache-2.0
/// \file
/// One thread of each producer warp issues TMA loads. The warps form two pairs; each pair loads every other block of K,
/// one warp A and the other B. Where A streams past few columns of B, one pair loads every block, and the cluster's
/// CTAs take turns with B's. One to three consumer warpgroups multiply (wgmma). In a cluster each CTA loads a share of
/// A's rows for the CTAs beside it and a share of B's columns for those above and below it.
#pragma once

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/tma.cuh"
#include "cuda/isa/wgmma.cuh"
#include "cuda/kernels/sm90/native/tile.cuh"

namespace exactile::cuda::sm90::native {

/// The first row of A, column of B and block of K of a tile, and the products they belong to.
struct LoadCoord {
  int row;
  int column;
  int a_batch;
  int b_batch;
  int first_block;
  int blocks;
};

/// Which part of an operand's tile this CTA loads, and for which CTAs.
struct Share {
  int mn;     ///< the first of the tile's
  int k;      ///< the first of the block's
  int boxes;  ///< of 64 along M or N
  bool is_all;
  std::uint16_t mask;

  Share() = default;
  /// The index-th of `count` shares of `mn_count` rows (columns) or, where MN-major, of boxes or of the block's k.
  __device__ Share(Major major, int mn_count, int index, int count, std::uint16_t mask)
      : mn(0), k(0), boxes(mn_count / 64), is_all(count == 1), mask(mask) {
    const int log_count = 31 - __clz(count);
    if (major == Major::k) {
      mn = (mn_count >> log_count) * index;
    } else if (shares_boxes(mn_count, count)) {
      boxes = boxes >> log_count;
      mn = boxes * 64 * index;
    } else {
      k = (64 >> log_count) * index;
    }
  }
};

/// This CTA's share of a tile's rows or columns from `mn` on, in block `block` of K.
template <class T, Major major, int mn_count>
__device__ inline void load_operand(std::uint32_t shared, const CUtensorMap* map, int mn, int block, int batch,
                                    const Share& share, std::uint32_t full) {
  const auto load = [&](std::uint32_t to, int x, int y) {
    if (share.is_all) {
      isa::tma_load(to, map, x, y, batch, full);
    } else {
      isa::tma_load_multicast(to, map, x, y, batch, full, share.mask);
    }
  };
  shared += (share.mn + share.k) * row_bytes;
  if constexpr (major == Major::k) {
    load(shared, block * T::block_k, mn + share.mn);
  } else {
    static_assert(mn_count % 64 == 0, "boxes along M or N hold 64 lines");
#pragma unroll 1
    for (int box = 0; box < share.boxes; ++box)
      load(shared + box * T::group_bytes, mn + share.mn + box * 64, block * T::block_k + share.k);
  }
}

/// Rows of A that are read once.
template <class T>
__device__ inline void load_streamed(std::uint32_t shared, const CUtensorMap* a, int row, int block, int batch,
                                     std::uint32_t full) {
  const int k = block * T::block_k;
  if constexpr (T::a_major == Major::k) {
    isa::tma_load(shared, a, k, row, batch, full, isa::evict_first());
  } else {
    isa::tma_load(shared, a, row, k, batch, full, isa::evict_first());
  }
}

/// What a producer warp knows before the first tile.
template <class T>
struct Producing {
  Share share;  ///< of the operand that this warp loads
  int bytes;    ///< that arrive for a block
  LoadCoord place;

  Producing() = default;
  __device__ Producing(const Producer& producer, const Peers& peers, const Reach& reach)
      : share(producer.loads_a() ? Share(T::a_major, reach.rows, peers.column, peers.cluster.columns, peers.beside())
                                 : Share(T::b_major, reach.columns, peers.row, peers.cluster.rows, peers.above())),
        bytes((reach.rows + reach.columns) * row_bytes) {}
};

/// A producer warp's part of one tile, by one of its threads. `state`: of the first of its blocks, `next`: which block
/// of the tile that is. `announce`: called with the stage of the tile's first block before that is full.
template <class T, class Announce>
__device__ inline void load_tile(const PipelineAddresses<T>& pipeline, int stages, const Producer& producer,
                                 PipelineState& state, int& next, const CUtensorMap* a, const CUtensorMap* b,
                                 const Peers& peers, const Producing<T>& producing, const Announce& announce) {
  const LoadCoord& place = producing.place;
#pragma unroll 1
  for (; next < place.blocks; next += T::producer_pairs, state.advance(stages, T::producer_pairs)) {
    const int block = place.first_block + next;
    isa::mbarrier_wait(pipeline.empty_of(state.stage), state.parity ^ 1);
    if (!isa::elect_one()) continue;
    const std::uint32_t full = pipeline.full_of(state.stage);
    if (producer.loads_a()) {
      if (next == 0) announce(state.stage);
      isa::mbarrier_arrive_expect(full, producing.bytes);
      if constexpr (T::streams_a) {
        load_streamed<T>(pipeline.a_of(state.stage), a, place.row, block, place.a_batch, full);
      } else {
        load_operand<T, T::a_major, T::tile_m>(pipeline.a_of(state.stage), a, place.row, block, place.a_batch,
                                               producing.share, full);
      }
    } else if constexpr (T::streams_a) {
      if (block % streaming_rows == peers.row)
        isa::tma_load_multicast(pipeline.b_of(state.stage), b, block * T::block_k, place.column, place.b_batch, full,
                                producing.share.mask);
    } else {
      load_operand<T, T::b_major, T::tile_n>(pipeline.b_of(state.stage), b, place.column, block, place.b_batch,
                                             producing.share, full);
    }
  }
  next -= place.blocks;
}

/// The end of a producer warp in a cluster: it waits until all consumers have released its stages, since a CTA must not
/// exit while others signal barriers in its shared memory. `state` and `next` as load_tile() left them.
template <class T>
__device__ inline void wait_for_consumers(const PipelineAddresses<T>& pipeline, int stages, PipelineState& state,
                                          int next) {
#pragma unroll 1
  for (; next < stages; next += T::producer_pairs, state.advance(stages, T::producer_pairs))
    isa::mbarrier_wait(pipeline.empty_of(state.stage), state.parity ^ 1);
}

/// Where a consumer warp finds blocks, and what it tells that it has read them: found once in a kernel.
template <class T>
struct Consumer {
  std::uint64_t a;  ///< descriptor of this warpgroup's rows of A in the first stage
  std::uint64_t b;
  std::uint32_t full;
  std::uint32_t supplier;  ///< this lane's: that the first stage is empty, there; 0: none

  __device__ Consumer(const PipelineAddresses<T>& pipeline, const Peers& peers, int warpgroup)
      : a(isa::wgmma_tile_descriptor<T::a_major>(pipeline.stage + warpgroup * 64 * row_bytes, T::group_bytes)),
        b(isa::wgmma_tile_descriptor<T::b_major>(pipeline.stage + T::a_bytes, T::group_bytes)),
        full(pipeline.full) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    supplier = peers.is_supplier(lane) ? isa::mapa(pipeline.empty, lane) : 0;
  }

  __device__ void wait(const PipelineState& state) const { isa::mbarrier_wait(full + 8 * state.stage, state.parity); }
  __device__ void release(int stage) const {
    if (supplier != 0) isa::mbarrier_arrive_there(supplier + 8 * stage);
  }
};

/// Where a block's tiles begin, of this warpgroup's rows of A and of all columns of B.
template <class T>
struct BlockDescriptors {
  std::uint64_t a = 0;
  std::uint64_t b = 0;

  BlockDescriptors() = default;
  __device__ BlockDescriptors(const Consumer<T>& consumer, int stage)
      : a(isa::wgmma_further(consumer.a, stage * static_cast<int>(sizeof(Stage<T>)))),
        b(isa::wgmma_further(consumer.b, stage * static_cast<int>(sizeof(Stage<T>)))) {}
};

/// The products of one block, enqueued.
template <class T>
__device__ inline void multiply_block(typename T::Accumulator (&sums)[T::tile_n / 2], const BlockDescriptors<T>& block,
                                      bool accumulate) {
  constexpr int a_step = T::a_major == Major::k ? 32 : 16 * row_bytes;
  constexpr int b_step = T::b_major == Major::k ? 32 : 16 * row_bytes;
#pragma unroll
  for (int step = 0; step < T::steps; ++step)
    isa::wgmma_tile<typename T::Element, T::tile_n, T::a_major, T::b_major>(
        sums, isa::wgmma_further(block.a, step * a_step), isa::wgmma_further(block.b, step * b_step),
        accumulate || step > 0);
}

/// What the tensor cores sum of a block, where they keep few bits of a sum: T::fragment_n columns at a time, two such
/// fragments in turn.
template <class T>
struct Fragments {
  static constexpr int fragments_per_block = T::tile_n / T::fragment_n;  ///< of a block
  static constexpr int held = T::fragment_n / 2;

  float sums[2][held];
  BlockDescriptors<T> tiles;  ///< of the block enqueued last
  int stage;                  ///< that it lies in

  /// Fragment `item` of the blocks from an even one on.
  __device__ void enqueue(int item, const Consumer<T>& consumer, PipelineState& state, int pipeline_stages) {
    float(&to)[held] = sums[item % 2];
    if (item % fragments_per_block == 0) {
      tiles = BlockDescriptors<T>(consumer, state.stage);
      consumer.wait(state);
      stage = state.stage;
      state.advance(pipeline_stages);
    }
    isa::pin(to);
    isa::wgmma_fence();
#pragma unroll
    for (int step = 0; step < T::steps; ++step)
      isa::wgmma_tile<typename T::Element, T::fragment_n, Major::k, Major::k>(
          to, isa::wgmma_further(tiles.a, 32 * step),
          isa::wgmma_further(tiles.b, item % fragments_per_block * T::fragment_n * row_bytes + 32 * step), step > 0);
    isa::wgmma_commit();
  }
};

/// Adds so many blocks' products to the sums in f32, while the tensor cores work at the fragment after. The first of
/// them is enqueued before; so is the one behind them, where more blocks follow.
template <class T, int blocks, bool more_follow>
__device__ inline void promote_blocks(typename T::Accumulator (&sums)[T::tile_n / 2], Fragments<T>& fragments,
                                      const Consumer<T>& consumer, PipelineState& state, int pipeline_stages) {
  constexpr int fragments_per_block = Fragments<T>::fragments_per_block;
  constexpr int held = Fragments<T>::held;
  static_assert(!more_follow || blocks * fragments_per_block % 2 == 0, "the next begins with the same fragment");
#pragma unroll
  for (int item = 0; item < blocks * fragments_per_block; ++item) {
    const int stage = fragments.stage;
    if (more_follow || item + 1 < blocks * fragments_per_block) {
      fragments.enqueue(item + 1, consumer, state, pipeline_stages);
      isa::wgmma_wait<1>();
    } else {
      isa::wgmma_wait<0>();
    }
    float(&done)[held] = fragments.sums[item % 2];
    isa::pin(done);
    if ((item + 1) % fragments_per_block == 0) consumer.release(stage);
#pragma unroll
    for (int i = 0; i < held; ++i) sums[item % fragments_per_block * held + i] += done[i];
  }
}

/// The same with promotion: the tensor cores keep few bits of a sum, so f32 takes over after each block.
template <class T>
__device__ inline void multiply_tile_promoted(typename T::Accumulator (&sums)[T::tile_n / 2],
                                              const Consumer<T>& consumer, PipelineState& state, int stages,
                                              int blocks) {
  constexpr int at_once = 2;
  Fragments<T> fragments;
#pragma unroll
  for (int i = 0; i < T::tile_n / 2; ++i) sums[i] = 0;
  fragments.enqueue(0, consumer, state, stages);
  for (; blocks > at_once; blocks -= at_once)
    promote_blocks<T, at_once, true>(sums, fragments, consumer, state, stages);
  if (blocks == at_once) {
    promote_blocks<T, at_once, false>(sums, fragments, consumer, state, stages);
  } else {
    promote_blocks<T, 1, false>(sums, fragments, consumer, state, stages);
  }
}

/// A consumer warpgroup's part of one tile: sums = A * B. One block is always in flight behind the one being issued.
/// `meanwhile`: called with 0 when the first block's products are enqueued, then with 1 behind a second's, if any.
template <class T, class Meanwhile>
__device__ inline void multiply_tile(typename T::Accumulator (&sums)[T::tile_n / 2], const Consumer<T>& consumer,
                                     PipelineState& state, int stages, int blocks, const Meanwhile& meanwhile) {
  const auto enqueue = [&](bool accumulate) {
    const BlockDescriptors<T> tiles(consumer, state.stage);
    consumer.wait(state);
    isa::pin(sums);
    isa::wgmma_fence();
    multiply_block<T>(sums, tiles, accumulate);
    isa::wgmma_commit();
  };
  enqueue(false);
  meanwhile(0);
  const int first = state.stage;
  if (blocks > 1) {
    state.advance(stages);
    enqueue(true);
  }
  meanwhile(1);
  if (blocks > 1) {
    isa::wgmma_wait<1>();
    consumer.release(first);
  }
  for (int block = 2; block < blocks; ++block) {
    const int before = state.stage;
    state.advance(stages);
    enqueue(true);
    isa::wgmma_wait<1>();
    consumer.release(before);
  }
  isa::wgmma_wait<0>();
  isa::pin(sums);
  consumer.release(state.stage);
  state.advance(stages);
}

}  // namespace exactile::cuda::sm90::native
