// SPDX-License-Identifier: Apache-2.0
/// \file
/// f32 products of which both operands are split in the kernel that multiplies. One warp loads, a warpgroup splits A,
/// one splits B, two multiply. Nothing is read twice but what several tiles share.
#pragma once

#include "cuda/isa/wgmma.cuh"
#include "cuda/isa/wgmma_tile.cuh"
#include "cuda/kernels/sm90/f32_tensor_maps.cuh"
#include "cuda/kernels/sm90/fused_split_epilogue.cuh"

namespace exactile::cuda::sm90 {

struct FusedSplitParameters {
  CUtensorMap maps[splitters][4];  ///< of A, of B
  F32TileLayout tile_layout[splitters];
  SplitPair operands;       ///< without slices; scales where K is split
  TileScheduler scheduler;  ///< of tiles of 128 x 128
  SplitKPartials partials;  ///< where K is split
  float underflow_scale;
  Output out;
  bool stores_vectors;
};

/// A tile, and the K slice to be summed there.
struct FusedWorkTile {
  TileCoord tile;
  int k_slice;
  int first_chunk;
  int chunks;
};

[[nodiscard]] __device__ inline FusedWorkTile fused_work_tile(const FusedSplitParameters& p, int index) {
  const int tiles = p.scheduler.count();
  const SplitOperand& a = p.operands.a;
  const int k_slice = index / tiles;
  const int first = k_slice * a.k_per_slice;
  return {p.scheduler(index % tiles), k_slice, first / chunk_k,
          (min(a.slice_k(), a.k - first) + chunk_k - 1) / chunk_k};
}

/// The chunks of a K slice may differ by so much: so may the slices, too.
inline constexpr int slice_spread = most_spread / 2;

/// By the producer thread.
__device__ inline void load_work(FusedShared& space, PipelineState& state, const FusedSplitParameters& p,
                                 const FusedWorkTile& work) {
  const auto batch_of = [&](const SplitOperand& operand) { return operand.batches == 1 ? 0 : work.tile.batch; };
  for (int chunk = work.first_chunk; chunk < work.first_chunk + work.chunks; ++chunk) {
    isa::mbarrier_wait(&space.of_stage.empty[state.index], state.parity ^ 1);
    std::uint64_t* full = &space.of_stage.full[state.index];
    load_f32_tile(space.tile[state.index][0].data, p.maps[0], p.tile_layout[0], work.tile.row * tile_m, chunk * chunk_k,
                  batch_of(p.operands.a), full);
    load_f32_tile(space.tile[state.index][1].data, p.maps[1], p.tile_layout[1], work.tile.column * fused_n,
                  chunk * chunk_k, batch_of(p.operands.b), full);
    state.advance(fused_stages);
  }
}

/// By a splitting warpgroup. `end`: of space.ends, the tile's.
template <bool whole>
__device__ inline void split_work(FusedShared& space, PipelineState& state, const PipelineState& end,
                                  const FusedSplitParameters& p, const FusedWorkTile& work, int side) {
  const F32TileLayout& tile_layout = p.tile_layout[side];
  const int barrier = first_splitter_barrier + side;
  VectorSplit split(tile_layout.k_major);
  for (int chunk = 0; chunk < work.chunks; ++chunk) {
    std::byte* const tile = space.tile[state.index][side].data;
    isa::mbarrier_wait(&space.of_stage.full[state.index], state.parity);
    if (tile_layout.misaligned) realign(tile, tile_layout, split.thread, barrier);
    split.take(tile, space.scales[state.index][side], barrier, work.chunks == 1 ? 0 : fused_headroom);
    isa::mbarrier_arrive(&space.sliced[state.index]);
    state.advance(fused_stages);
  }
  if constexpr (whole) {
    split.end(space.ends[end.index][side], p.underflow_scale);
    isa::mbarrier_arrive(&space.ended[end.index]);
    return;
  }
  if ((side == 0 ? work.tile.column : work.tile.row) != 0) return;
  const SplitOperand& operand = side == 0 ? p.operands.a : p.operands.b;
  const int first = side == 0 ? work.tile.row * tile_m : work.tile.column * fused_n;
#pragma unroll
  for (int half = 0; half < 2; ++half)
    store_scales(operand, work.k_slice, work.tile.batch, split.states[half], first + split.line(half), 1, slice_spread);
}

/// fragment = the products of fragment_steps of a chunk, 64 rows with 64 columns, small ones first. `a`, `b`:
/// isa::wgmma_uniform().
__device__ inline void multiply_fragment(float (&fragment)[fused_fragment / 2], std::uint64_t a, int a_box,
                                         std::uint64_t b, int b_box, int first_step) {
  isa::pin(fragment);
  isa::wgmma_fence();
#pragma unroll
  for (int i = 0; i < Fp16x3::products * fragment_steps; ++i) {
    const SlicePair pair = Fp16x3::product(i / fragment_steps);
    const int k = (first_step + i % fragment_steps) * 16;
    const auto place = [&](int slice, int box) {
      return k / block_k * box + Fp16x3::slice_offset(slice, tile_m) + k % block_k * 2;
    };
    isa::wgmma_tile<__half, fused_fragment, isa::Major::k, isa::Major::k>(
        fragment, isa::wgmma_further(a, place(pair.a, a_box)), isa::wgmma_further(b, place(pair.b, b_box)), i != 0);
  }
  isa::wgmma_commit();
  isa::wgmma_wait<0>();
  isa::pin(fragment);
}

/// sums += fragment, in units of the largest element so far.
__device__ inline void add_fragment(FusedAccumulators& sums, const float (&fragment)[fused_fragment / 2], int f,
                                    const ChunkScales& rows, const ChunkScales& columns, int row) {
  const float2 factors = *reinterpret_cast<const float2*>(rows.factor + row);
  const float row_factor[] = {factors.x, factors.y};
  constexpr int groups = groups_of_four / 2;
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    const float4 factor = *reinterpret_cast<const float4*>(columns.factor + line_of_sum(f * groups + g, 0));
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float of_column = i / 2 == 0 ? factor.x : i / 2 == 1 ? factor.y : i / 2 == 2 ? factor.z : factor.w;
      const int index = 4 * (g * 2 + i / 2 % 2) + i % 2 * 2 + i / 4;
      sums[f][index] = fmaf(fragment[index], row_factor[i % 2] * of_column, sums[f][index]);
    }
  }
}

/// The sums so far, in units of the largest element with the next chunk.
__device__ inline void shrink_sums(FusedAccumulators& sums, const ChunkScales& rows, const ChunkScales& columns,
                                   int row) {
  int shrinks = 0;
#pragma unroll
  for (int warp = 0; warp < splitter_warps; ++warp) shrinks |= rows.shrinks[warp] | columns.shrinks[warp];
  if (shrinks == 0) return;
#pragma unroll
  for (int i = 0; i < thread_sums; ++i) {
    const int r = i / (thread_sums / 2);
    const int g = i / 4 % groups_of_four;
    const float of_column = columns.shrink[line_of_sum(g, i % 4)];
    sum_at(sums, r, g, i % 4) *= rows.shrink[row + r] * of_column;
  }
}

/// A consumer warpgroup's part of one tile.
template <bool whole>
__device__ inline void multiply_work(FusedShared& space, PipelineState& state, const PipelineState& end,
                                     const FusedSplitParameters& p, const FusedWorkTile& work) {
  FusedAccumulators sums = {};
  const SlicePlaces of_a(p.tile_layout[0].k_major);
  const SlicePlaces of_b(p.tile_layout[1].k_major);
  const int row = ElementRows().line;
  for (int chunk = 0; chunk < work.chunks; ++chunk) {
    const auto descriptor = [&](int side, int offset) {
      return isa::wgmma_uniform(isa::wgmma_descriptor<Fp16x3::row_bytes>(space.tile[state.index][side].data + offset));
    };
    const std::uint64_t a = descriptor(0, row / 64 * of_a.half_bytes);
    const std::uint64_t b = descriptor(1, 0);
    isa::mbarrier_wait(&space.sliced[state.index], state.parity);
    const ChunkScales& rows = space.scales[state.index][0];
    const ChunkScales& columns = space.scales[state.index][1];
    if (chunk != 0) shrink_sums(sums, rows, columns, row);
#pragma unroll
    for (int f = 0; f < fused_n / fused_fragment; ++f) {
      float fragment[fused_fragment / 2];
#pragma unroll 1
      for (int step = 0; step < chunk_steps; step += fragment_steps) {
        multiply_fragment(fragment, a, of_a.box_bytes, isa::wgmma_further(b, f * of_b.half_bytes), of_b.box_bytes,
                          step);
        add_fragment(sums, fragment, f, rows, columns, row);
      }
    }
    isa::mbarrier_arrive(&space.of_stage.empty[state.index]);
    state.advance(fused_stages);
  }
  const FusedCoord place(work.tile.row * tile_m, work.tile.column * fused_n);
  if constexpr (whole) {
    isa::mbarrier_wait(&space.ended[end.index], end.parity);
    const uint2 found = *reinterpret_cast<const uint2*>(space.ends[end.index][0].scale + row);
    const PackedScale row_scales[] = {found.x, found.y};
    store_tile(sums, place, row_scales, space.ends[end.index][1], p.out, p.stores_vectors, p.operands, work.tile.batch);
  } else {
    const std::int64_t product = std::int64_t{work.k_slice} * p.scheduler.batches + work.tile.batch;
    store_partials(sums, p.partials.data + product * p.out.rows * p.partials.pitch, place, p.out.rows, p.out.columns,
                   p.partials.pitch);
  }
}

/// Persistent: each CTA takes work tiles in grid-stride order. `whole`: K is not split.
template <bool whole>
__global__ void __launch_bounds__(fused_threads, 1)
    multiply_fused_split(const __grid_constant__ FusedSplitParameters p) {
  extern __shared__ __align__(1024) std::byte dynamic[];
  auto& space = *reinterpret_cast<FusedShared*>(dynamic);
  const int warpgroup = static_cast<int>(threadIdx.x) / warpgroup_threads;
  if (threadIdx.x == 0) {
    space.of_stage.initialise(2, consumers * warpgroup_threads);
    for (std::uint64_t& barrier : space.sliced) isa::mbarrier_init(&barrier, splitters * warpgroup_threads);
    for (std::uint64_t& barrier : space.ended) isa::mbarrier_init(&barrier, splitters * warpgroup_threads);
    isa::mbarrier_init_fence();
  }
  __syncthreads();
  if constexpr (!whole) isa::start_kernel_after();

  const int work_tiles = p.scheduler.count() * p.operands.a.split_k;
  const auto for_all_work_tiles = [&](const auto& take) {
    PipelineState end;
    for (int index = static_cast<int>(blockIdx.x); index < work_tiles; index += static_cast<int>(gridDim.x)) {
      take(fused_work_tile(p, index), end);
      end.advance(fused_ends);
    }
  };
  PipelineState state;
  if (warpgroup < consumers) {
    isa::registers_take<120>();
    for_all_work_tiles(
        [&](const FusedWorkTile& work, const PipelineState& end) { multiply_work<whole>(space, state, end, p, work); });
  } else if (warpgroup < consumers + splitters) {
    isa::registers_take<104>();
    for_all_work_tiles([&](const FusedWorkTile& work, const PipelineState& end) {
      split_work<whole>(space, state, end, p, work, warpgroup - consumers);
    });
  } else {
    isa::registers_give<32>();
    if (threadIdx.x == (consumers + splitters) * warpgroup_threads) {
      isa::wait_for_kernel_before();
      for_all_work_tiles([&](const FusedWorkTile& work, const PipelineState&) { load_work(space, state, p, work); });
    }
  }
}

}  // namespace exactile::cuda::sm90
