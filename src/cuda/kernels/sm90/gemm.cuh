// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel around main loop and epilogue: persistent, each cluster takes every so-manieth tile and, of the last
/// ones, its share.
#pragma once

#include "cuda/kernels/sm90/carried_sums.cuh"
#include "cuda/kernels/sm90/epilogue.cuh"
#include "cuda/kernels/sm90/few_left.cuh"
#include "cuda/kernels/sm90/leftovers.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"
#include "cuda/tile/tile_shares.hpp"

namespace exactile::cuda::sm90 {

struct GemmParameters {
  CUtensorMap a;
  CUtensorMap b;
  CUtensorMap c;
  TileOrder order;
  TileShares shares;
  CarriedSums carried;  ///< where tiles are shared out
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
  static constexpr bool by_tma = turn == Turn::first || turn == Turn::part;
  Ring<Slices> ring;
  StoreSpace<by_tma ? 32 : 16, by_tma ? 2 : 1> space[consumers];
};

template <class Slices, Turn turn>
__global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(cta_threads, 1)
    multiply(const __grid_constant__ GemmParameters p) {
  extern __shared__ __align__(1024) std::byte dynamic[];
  if constexpr (turn == Turn::leftovers) {
    isa::wait_for_kernel_before();
    const unsigned left = *p.left.count;
    if (left <= most_few) {
      sum_few(*reinterpret_cast<FewSpace<Slices>*>(dynamic), p.operands, p.tiny_scale, p.out, p.left.few, left);
      return;
    }
  }
  auto& shared = *reinterpret_cast<Shared<Slices, turn>*>(dynamic);
  const int rank = static_cast<int>(isa::cluster_rank());
  const int warpgroup = static_cast<int>(threadIdx.x) / warpgroup_threads;
  const int own = static_cast<int>(blockIdx.x) / cluster;

  if (threadIdx.x == 0) shared.ring.initialise();
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
    auto& space = shared.space[warpgroup];
    const int warp = static_cast<int>(threadIdx.x) % warpgroup_threads / 32;
    for (int index = 0; index < works; ++index) {
      const Work work = work_at<Slices>(p, own, index);
      if (turn == Turn::leftovers && nothing_left(p.left, work.tile)) continue;
      const TilePlace place = p.order(work.tile);
      const SumPlace sum_place{(place.row * cluster + rank) * tile_m + warpgroup * 64, place.column * tile_n,
                               work.part * p.order.batches + place.batch, warp, static_cast<int>(threadIdx.x) % 32};
      const ProductFacts facts{facts_of(p.operands.a, place.batch), facts_of(p.operands.b, place.batch), p.tiny_scale,
                               // Somewhat less: where counts are above, so are errors, however they were rounded.
                               static_cast<float>(p.hopeless_tiny) * p.tiny_scale * (1 - 0x1p-10f)};
      const int cta_tile = work.tile * cluster + rank;
      unsigned marks[4] = {};
      const bool may_be_hopeless = turn == Turn::first && begins_hopeless(p, place);
      if (turn != Turn::part && !work.is_left)
        load_columns<Slices>(space.lines, facts, sum_place.column, 1 + warpgroup);
      if (may_be_hopeless && is_hopeless(p, place)) {
        if (!work.is_left) leave_untried(p.left, p.operands, sum_place, cta_tile, warpgroup);
        continue;
      }
      if (work.goes_on) {
        take_sums(sums, p.carried, carried_place(own - 1, rank, warpgroup));
      } else {
        clear_sums(sums);
      }
      multiply_tile(sums, shared.ring, at, warpgroup, work.blocks);
      if (work.is_left) {
        leave_sums(sums, p.carried, carried_place(own, rank, warpgroup), 1 + warpgroup);
        continue;
      }

      if constexpr (turn == Turn::leftovers) read_marks(marks, p.left, cta_tile, warpgroup, warp);
      store_tile<Slices, turn>(sums, p.out, &p.c, space, sum_place, 1 + warpgroup, facts, p.operands, marks);
      if constexpr (turn == Turn::first) write_marks(marks, p.left, p.operands, sum_place, cta_tile, warpgroup);
    }
    if constexpr (Shared<Slices, turn>::by_tma) isa::tma_store_wait_read<0>();
  }
  // Nobody leaves while the other CTA still loads into it or arrives at its barriers.
  isa::cluster_sync();
}

}  // namespace exactile::cuda::sm90
