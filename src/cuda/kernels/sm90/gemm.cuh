// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel around main loop and epilogue: persistent, each cluster takes every so-manieth tile and, of the last
/// ones, its share.
#pragma once

#include "cuda/isa/cluster.cuh"
#include "cuda/kernels/sm90/carried_sums.cuh"
#include "cuda/kernels/sm90/epilogue.cuh"
#include "cuda/kernels/sm90/leftovers.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"
#include "cuda/kernels/sm90/part_sums.cuh"
#include "cuda/tile/tile_shares.hpp"

namespace exactile::cuda::sm90 {

struct GemmParameters {
  CUtensorMap a;
  CUtensorMap b;
  CUtensorMap c;
  TileOrder order;
  TileShares shares;
  CarriedSums carried;  ///< where tiles are shared out
  PartSums part_sums;   ///< in Turn::part
  int parts;            ///< of K, computed as products of their own; 1 except in Turn::part
  int blocks;           ///< of block_k
  SplitPair operands;   ///< with A's rows down C, B's across
  float tiny_scale;
  unsigned hopeless_tiny;  ///< in Turn::first: a row and a column with more tiny elements together are not tried
  Output out;
  Leftovers left;
};

/// Whether the first element of a tile has more tiny elements in its row and column than may be tried. For most data
/// this says at a glance that is_hopeless() is false.
[[nodiscard]] __device__ inline bool begins_hopeless(const GemmParameters& p, const TilePlace& place) {
  return facts_of(p.operands.a, place.batch).tiny[place.row * cluster * tile_m] +
             facts_of(p.operands.b, place.batch).tiny[place.column * tile_n] >
         p.hopeless_tiny;
}

/// By whole warps: whether all elements of a tile have.
[[nodiscard]] __device__ inline bool is_hopeless(const GemmParameters& p, const TilePlace& place) {
  const unsigned* rows = facts_of(p.operands.a, place.batch).tiny + place.row * cluster * tile_m;
  const unsigned* columns = facts_of(p.operands.b, place.batch).tiny + place.column * tile_n;
  const int row_count = min(p.out.rows - place.row * cluster * tile_m, cluster * tile_m);
  const int column_count = min(p.out.columns - place.column * tile_n, tile_n);
  unsigned least_row = ~0u >> 1;
  unsigned least_column = ~0u >> 1;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < row_count; i += 32) least_row = min(least_row, rows[i]);
  for (int j = static_cast<int>(threadIdx.x) % 32; j < column_count; j += 32)
    least_column = min(least_column, columns[j]);
  return __reduce_min_sync(~0u, least_row) + __reduce_min_sync(~0u, least_column) > p.hopeless_tiny;
}

/// A tile, and the blocks of K to be summed there.
struct Work {
  int tile;
  int part;
  int first_block;
  int blocks;
  bool goes_on;  ///< from the sums of the cluster before
  bool is_left;  ///< to the cluster after
};

template <class Slices>
[[nodiscard]] __device__ inline Work work_at(const GemmParameters& p, int cluster, int index) {
  const TileShare share = p.shares.at(cluster, index);
  const int part = share.tile / p.order.count();
  const std::int64_t chunks = p.blocks / Slices::chunk_stages;
  const int first = static_cast<int>(chunks * part / p.parts);
  const int last = static_cast<int>(chunks * (part + 1) / p.parts);
  const bool is_cut = share.first_chunk > 0 || share.is_left;
  return {share.tile % p.order.count(),
          part,
          (is_cut ? share.first_chunk : first) * Slices::chunk_stages,
          (is_cut ? share.chunks : last - first) * Slices::chunk_stages,
          share.first_chunk > 0,
          share.is_left};
}

template <class Slices, Turn turn>
struct Shared {
  // Two buffers for TMA to store from, where the ring leaves room for them.
  static constexpr bool by_tma = turn == Turn::first;
  Ring<Slices> ring;
  StoreSpace<by_tma ? 32 : 16, by_tma ? 2 : 1> space[consumers];
};

template <class Slices>
struct Shared<Slices, Turn::part> {
  struct Space {
    ColumnLines lines;
  };
  static constexpr bool by_tma = false;
  Ring<Slices> ring;
  static_assert(most_share_bytes() <= static_cast<int>(sizeof(ring.stage)));
  Space space[consumers];
  PartSpace parts;
};

[[nodiscard]] __device__ inline ProductFacts product_facts(const GemmParameters& p, int batch) {
  return {facts_of(p.operands.a, batch), facts_of(p.operands.b, batch), p.tiny_scale,
          // Somewhat less: where counts are above, so are errors, however they were rounded.
          static_cast<float>(p.hopeless_tiny) * p.tiny_scale * (1 - 0x1p-10f)};
}

/// Of C, from a CTA's tile on; none where it has no rows.
[[nodiscard]] __device__ inline int columns_left(const Output& c, const TilePlace& tile, int rank) {
  return (tile.row * cluster + rank) * tile_m < c.rows ? c.columns - tile.column * tile_n : 0;
}

/// By all multiplying threads, when they have summed all their parts: what is still to be finished.
template <class Slices>
__device__ inline void finish_parts(const GemmParameters& p, Shared<Slices, Turn::part>& shared, int own, int rank,
                                    int works, std::uint32_t parity) {
  isa::named_barrier(PartSums::barrier, PartSums::threads);
#pragma unroll 1
  for (int index = 0; index < works; ++index) {
    const unsigned shares = shared.parts.shares[index];
    if (shares == 0) continue;
    const Work work = work_at<Slices>(p, own, index);
    const TilePlace tile = p.order(work.tile);
    const int thread = isa::thread_here();
    const int warpgroup = thread / warpgroup_threads;
    const SumPlace at{(tile.row * cluster + rank) * tile_m + warpgroup * 64, tile.column * tile_n, tile.batch,
                      thread % warpgroup_threads / 32, thread % 32};
    const PartPlace place(work.tile * cluster + rank, work.part, p.parts, columns_left(p.out, tile, rank));
    const ProductFacts facts = product_facts(p, tile.batch);
    finish_shares<Slices>(shares, {p.part_sums, place, p.out, at, facts, p.operands}, shared.ring.stage, shared.parts,
                          parity);
  }
}

template <class Slices, Turn turn>
__global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(cta_threads, 1)
    multiply(const __grid_constant__ GemmParameters p) {
  extern __shared__ __align__(1024) std::byte dynamic[];
  if constexpr (turn == Turn::leftovers) {
    isa::wait_for_kernel_before();
    if (p.left.count->some_marked == 0) return;
  }
  auto& shared = *reinterpret_cast<Shared<Slices, turn>*>(dynamic);
  const int rank = static_cast<int>(isa::cluster_rank());
  const int warpgroup = static_cast<int>(threadIdx.x) / warpgroup_threads;
  const int own = static_cast<int>(blockIdx.x) / cluster;

  if (threadIdx.x == 0) {
    if constexpr (turn == Turn::part) shared.parts.initialise();
    shared.ring.initialise();
  }
  isa::cluster_sync();
  if constexpr (turn != Turn::leftovers) isa::wait_for_kernel_before();

  const int works = p.shares.count(own);
  RingPlace<Slices> at;
  if (warpgroup == consumers) {
    isa::registers_give<40>();
    if (threadIdx.x < consumers * warpgroup_threads + 32) {
      for (int index = 0; index < works; ++index) {
        const Work work = work_at<Slices>(p, own, index);
        if (turn == Turn::leftovers && nothing_left(p.left, work.tile)) continue;
        const TilePlace place = p.order(work.tile);
        if (turn == Turn::first && begins_hopeless(p, place) && is_hopeless(p, place)) continue;
        if (threadIdx.x % 32 != 0) continue;
        load_tile(shared.ring, at, &p.a, &p.b, (place.row * cluster + rank) * tile_m, place.column * tile_n,
                  p.operands.a.batches == 1 ? 0 : place.batch, p.operands.b.batches == 1 ? 0 : place.batch,
                  work.first_block, work.blocks);
      }
    }
  } else {
    isa::registers_take<232>();
    Sums sums;
    std::uint32_t parity = 0;  // in Turn::part, of the barriers behind which shares are loaded
    auto& space = shared.space[warpgroup];
    const int warp = static_cast<int>(threadIdx.x) % warpgroup_threads / 32;
    for (int index = 0; index < works; ++index) {
      const Work work = work_at<Slices>(p, own, index);
      if (turn == Turn::leftovers && nothing_left(p.left, work.tile)) continue;
      const TilePlace place = p.order(work.tile);
      const SumPlace in_c{(place.row * cluster + rank) * tile_m + warpgroup * 64, place.column * tile_n, place.batch,
                          warp, static_cast<int>(threadIdx.x) % 32};
      const ProductFacts facts = product_facts(p, place.batch);
      const int cta_tile = work.tile * cluster + rank;
      unsigned marks[4] = {};
      const bool may_be_hopeless = turn == Turn::first && begins_hopeless(p, place);
      if (turn != Turn::part && !work.is_left) load_columns<Slices>(space.lines, facts, in_c.column, 1 + warpgroup);
      if (may_be_hopeless && is_hopeless(p, place)) {
        if (!work.is_left) leave_untried(p.left, p.operands, in_c, cta_tile, warpgroup);
        continue;
      }
      if (turn != Turn::part && work.goes_on) {
        take_sums(sums, p.carried, carried_place(own - 1, rank, warpgroup));
      } else {
        clear_sums(sums);
      }
      multiply_tile(sums, shared.ring, at, warpgroup, work.blocks);
      if (turn != Turn::part && work.is_left) {
        leave_sums(sums, p.carried, carried_place(own, rank, warpgroup), 1 + warpgroup);
        continue;
      }

      if constexpr (turn == Turn::part) {
        const PartPlace part(cta_tile, work.part, p.parts, columns_left(p.out, place, rank));
        if (index + 1 < works) {
          leave_part(sums, p.part_sums, part, part.mask());
          if (threadIdx.x == 0) shared.parts.shares[index] = shares_of_last(p.part_sums, part);
        } else {
          isa::cluster_arrive();
          finish_own_share<Slices>(sums, {p.part_sums, part, p.out, in_c, facts, p.operands}, shared.ring.stage,
                                   shared.parts, index, parity);
        }
      } else {
        if constexpr (turn == Turn::leftovers) read_marks(marks, p.left, cta_tile, warpgroup, warp);
        store_tile<Slices, turn>(sums, p.out, &p.c, space, in_c, 1 + warpgroup, facts, p.operands, marks);
        if constexpr (turn == Turn::first) write_marks(marks, p.left, p.operands, in_c, cta_tile, warpgroup);
      }
    }
    if constexpr (turn == Turn::part) finish_parts<Slices>(p, shared, own, rank, works, parity);
    if constexpr (Shared<Slices, turn>::by_tma) isa::tma_store_wait_read<0>();
  }
  // Nobody leaves while the other CTA still loads into it or arrives at its barriers.
  if constexpr (turn == Turn::part) {
    if (warpgroup == consumers) isa::cluster_arrive();
    isa::cluster_wait();
  } else {
    isa::cluster_sync();
  }
}

}  // namespace exactile::cuda::sm90
