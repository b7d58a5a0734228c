// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel around main loop and epilogue: persistent, each cluster takes tiles in grid-stride order, the last ones
/// as stream-K says.
#pragma once

#include "cuda/isa/cluster.cuh"
#include "cuda/kernels/sm90/epilogue.cuh"
#include "cuda/kernels/sm90/fixup.cuh"
#include "cuda/kernels/sm90/mainloop.cuh"
#include "cuda/kernels/sm90/splitk_reduce_scatter.cuh"
#include "cuda/kernels/sm90/stream_k_carry.cuh"
#include "cuda/tile/stream_k.hpp"

namespace exactile::cuda::sm90 {

struct GemmParameters {
  CUtensorMap a;
  CUtensorMap b;
  CUtensorMap c;
  TileScheduler scheduler;
  StreamK stream_k;
  StreamKCarry carry;            ///< where stream-K cuts tiles
  SplitKWorkspace split_k_sums;  ///< in Pass::split_k
  int split_k;                   ///< of K, computed as products of their own; 1 except in Pass::split_k
  int blocks;                    ///< of block_k
  SplitPair operands;            ///< with A's rows down C, B's across
  float underflow_scale;
  unsigned most_underflows;  ///< where some are left: a row and a column with more tiny elements together are not tried
  Output out;
  Fixup fixup;
};

/// Whether the first element of a tile has more tiny elements in its row and column than may be tried. For most data
/// this says at a glance that skips_tile() is false.
[[nodiscard]] __device__ inline bool may_skip_tile(const GemmParameters& p, const TileCoord& place) {
  return scales_of(p.operands.a, place.batch).underflows[place.row * cluster * tile_m] +
             scales_of(p.operands.b, place.batch).underflows[place.column * tile_n] >
         p.most_underflows;
}

/// By whole warps: whether all elements of a tile have.
[[nodiscard]] __device__ inline bool skips_tile(const GemmParameters& p, const TileCoord& place) {
  const unsigned* rows = scales_of(p.operands.a, place.batch).underflows + place.row * cluster * tile_m;
  const unsigned* columns = scales_of(p.operands.b, place.batch).underflows + place.column * tile_n;
  const int row_count = min(p.out.rows - place.row * cluster * tile_m, cluster * tile_m);
  const int column_count = min(p.out.columns - place.column * tile_n, tile_n);
  unsigned least_row = ~0u >> 1;
  unsigned least_column = ~0u >> 1;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < row_count; i += 32) least_row = min(least_row, rows[i]);
  for (int j = static_cast<int>(threadIdx.x) % 32; j < column_count; j += 32)
    least_column = min(least_column, columns[j]);
  return __reduce_min_sync(~0u, least_row) + __reduce_min_sync(~0u, least_column) > p.most_underflows;
}

/// A tile, and the blocks of K to be summed there.
struct WorkTile {
  int tile;
  int part;  ///< of its columns, where it is not computed as a whole
  int k_slice;
  int first_block;
  int blocks;
  bool carries_in;   ///< from the sums of the cluster before
  bool carries_out;  ///< to the cluster after
};

template <class Slices, Pass pass>
[[nodiscard]] __device__ inline WorkTile work_tile_at(const GemmParameters& p, int cluster, int index) {
  StreamKTile share = p.stream_k.at(cluster, index);
  constexpr int parts = tile_n / width_of(pass);
  const int part = share.tile % parts;
  share.tile /= parts;
  const int k_slice = share.tile / p.scheduler.count();
  const std::int64_t chunks = p.blocks / Slices::chunk_stages;
  const int first = static_cast<int>(chunks * k_slice / p.split_k);
  const int last = static_cast<int>(chunks * (k_slice + 1) / p.split_k);
  const bool is_cut = share.first_chunk > 0 || share.carries_out;
  return {share.tile % p.scheduler.count(),
          part,
          k_slice,
          (is_cut ? share.first_chunk : first) * Slices::chunk_stages,
          (is_cut ? share.chunks : last - first) * Slices::chunk_stages,
          share.first_chunk > 0,
          share.carries_out};
}

template <class Slices, Pass pass>
struct Shared {
  // Two buffers for TMA to store from, where the pipeline leaves room for them.
  static constexpr bool by_tma = leaves_some(pass);
  Pipeline<Slices> pipeline;
  StoreSpace<by_tma ? 32 : 16, by_tma ? 2 : 1> space[consumers];
};

template <class Slices>
struct Shared<Slices, Pass::split_k> {
  struct Space {
    ColumnScales scales;
  };
  static constexpr bool by_tma = false;
  Pipeline<Slices> pipeline;
  static_assert(most_share_bytes() <= static_cast<int>(sizeof(pipeline.stage)));
  Space space[consumers];
  ReduceShared split_k;
};

[[nodiscard]] __device__ inline ProductScales product_scales(const GemmParameters& p, int batch) {
  return {scales_of(p.operands.a, batch), scales_of(p.operands.b, batch), p.underflow_scale,
          most_element_error(p.most_underflows, p.underflow_scale)};
}

/// Of C, from a CTA's tile on; none where it has no rows.
[[nodiscard]] __device__ inline int columns_left(const Output& c, const TileCoord& tile, int rank) {
  return (tile.row * cluster + rank) * tile_m < c.rows ? c.columns - tile.column * tile_n : 0;
}

/// By all consumer threads, when they have summed all their K slices: the shares that are still to be reduced.
template <class Slices>
__device__ inline void reduce_remaining_shares(const GemmParameters& p, Shared<Slices, Pass::split_k>& shared, int own,
                                               int rank, int work_tiles, std::uint32_t parity) {
  isa::named_barrier(SplitKWorkspace::barrier, SplitKWorkspace::threads);
#pragma unroll 1
  for (int index = 0; index < work_tiles; ++index) {
    const unsigned shares = shared.split_k.shares[index];
    if (shares == 0) continue;
    const WorkTile work = work_tile_at<Slices, Pass::split_k>(p, own, index);
    const TileCoord tile = p.scheduler(work.tile);
    const int thread = isa::opaque_thread();
    const int warpgroup = thread / warpgroup_threads;
    const FragmentCoord at{(tile.row * cluster + rank) * tile_m + warpgroup * 64, tile.column * tile_n, tile.batch,
                           thread % warpgroup_threads / 32, thread % 32};
    const SplitKTile place(work.tile * cluster + rank, work.k_slice, p.split_k, columns_left(p.out, tile, rank));
    const ProductScales scales = product_scales(p, tile.batch);
    reduce_shares<Slices>(shares, {p.split_k_sums, place, p.out, at, scales, p.operands}, shared.pipeline.stage,
                          shared.split_k, parity);
  }
}

template <class Slices, Pass pass>
__global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(cta_threads, 1)
    multiply(const __grid_constant__ GemmParameters p) {
  extern __shared__ __align__(1024) std::byte dynamic[];
  if constexpr (pass == Pass::fixup) {
    isa::wait_for_kernel_before();
    if (p.fixup.count->some_marked == 0) return;
  }
  auto& shared = *reinterpret_cast<Shared<Slices, pass>*>(dynamic);
  const int rank = static_cast<int>(isa::cluster_rank());
  const int warpgroup = static_cast<int>(threadIdx.x) / warpgroup_threads;
  const int own = static_cast<int>(blockIdx.x) / cluster;

  if (threadIdx.x == 0) {
    if constexpr (pass == Pass::split_k) shared.split_k.initialise();
    shared.pipeline.initialise();
  }
  isa::cluster_sync();
  if constexpr (pass != Pass::fixup) isa::wait_for_kernel_before();

  constexpr int width = width_of(pass);
  const int work_tiles = p.stream_k.count(own);
  StagedPipelineState<Slices> state;
  if (warpgroup == consumers) {
    isa::registers_give<40>();
    if (threadIdx.x < consumers * warpgroup_threads + 32) {
      for (int index = 0; index < work_tiles; ++index) {
        const WorkTile work = work_tile_at<Slices, pass>(p, own, index);
        if (pass == Pass::fixup && needs_no_fixup(p.fixup, work.tile)) continue;
        const TileCoord place = p.scheduler(work.tile);
        if (leaves_some(pass) && may_skip_tile(p, place) && skips_tile(p, place)) continue;
        if (threadIdx.x % 32 != 0) continue;
        load_tile<Slices, width>(shared.pipeline, state, &p.a, &p.b, (place.row * cluster + rank) * tile_m,
                                 place.column * tile_n + work.part * width, p.operands.a.batches == 1 ? 0 : place.batch,
                                 p.operands.b.batches == 1 ? 0 : place.batch, work.first_block, work.blocks);
      }
    }
  } else {
    isa::registers_take<232>();
    Accumulators sums;
    std::uint32_t parity = 0;  // in Pass::split_k, of the barriers behind which shares are loaded
    auto& space = shared.space[warpgroup];
    const int warp = static_cast<int>(threadIdx.x) % warpgroup_threads / 32;
    for (int index = 0; index < work_tiles; ++index) {
      const WorkTile work = work_tile_at<Slices, pass>(p, own, index);
      if (pass == Pass::fixup && needs_no_fixup(p.fixup, work.tile)) continue;
      const TileCoord place = p.scheduler(work.tile);
      const FragmentCoord in_c{(place.row * cluster + rank) * tile_m + warpgroup * 64,
                               place.column * tile_n + work.part * width, place.batch, warp,
                               static_cast<int>(threadIdx.x) % 32};
      const ProductScales scales = product_scales(p, place.batch);
      const int cta_tile = work.tile * cluster + rank;
      unsigned marks[4] = {};
      constexpr int words = mark_words * width / tile_n;
      const bool may_skip = leaves_some(pass) && may_skip_tile(p, place);
      if (pass != Pass::split_k && !work.carries_out)
        load_columns<Slices, width>(space.scales, scales, in_c.column, 1 + warpgroup);
      if (may_skip && skips_tile(p, place)) {
        if (!work.carries_out) skip_tile(p.fixup, p.operands, in_c, cta_tile, warpgroup, work.part * words, words);
        continue;
      }
      if (pass != Pass::split_k && work.carries_in) {
        carry_in(sums, p.carry, carry_index(own - 1, rank, warpgroup));
      } else {
        clear_sums(sums);
      }
      multiply_tile<Slices, width>(sums, shared.pipeline, state, warpgroup, work.blocks);
      if (pass != Pass::split_k && work.carries_out) {
        carry_out(sums, p.carry, carry_index(own, rank, warpgroup), 1 + warpgroup);
        continue;
      }

      if constexpr (pass == Pass::split_k) {
        const SplitKTile k_slice(cta_tile, work.k_slice, p.split_k, columns_left(p.out, place, rank));
        if (index + 1 < work_tiles) {
          store_partial_sums(sums, p.split_k_sums, k_slice, k_slice.mask());
          if (threadIdx.x == 0) shared.split_k.shares[index] = shares_to_reduce(p.split_k_sums, k_slice);
        } else {
          isa::cluster_arrive();
          reduce_own_share<Slices>(sums, {p.split_k_sums, k_slice, p.out, in_c, scales, p.operands},
                                   shared.pipeline.stage, shared.split_k, index, parity);
        }
      } else {
        if constexpr (pass == Pass::fixup) read_marks(marks, p.fixup, cta_tile, warpgroup, warp);
        store_tile<Slices, pass>(sums, p.out, &p.c, space, in_c, 1 + warpgroup, scales, p.operands, marks);
        if constexpr (leaves_some(pass)) {
          FragmentCoord of_tile = in_c;
          of_tile.column = place.column * tile_n;
          write_marks(marks, p.fixup, p.operands, of_tile, cta_tile, warpgroup, work.part * words, words);
        }
      }
    }
    if constexpr (pass == Pass::split_k) reduce_remaining_shares<Slices>(p, shared, own, rank, work_tiles, parity);
    if constexpr (Shared<Slices, pass>::by_tma) isa::tma_store_wait_read<0>();
  }
  // Nobody leaves while the other CTA still loads into it or arrives at its barriers.
  if constexpr (pass == Pass::split_k) {
    if (warpgroup == consumers) isa::cluster_arrive();
    isa::cluster_wait();
  } else {
    isa::cluster_sync();
  }
}

}  // namespace exactile::cuda::sm90
