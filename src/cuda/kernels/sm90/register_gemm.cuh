// SPDX-License-Identifier: Apache-2.0
/// \file
/// f32 products of which one operand stays as it is until it is in registers (register_split.cuh); only the other one
/// is split ahead. For products of few columns or rows, that is half of the work of a split, or nearly all of it.
#pragma once

#include <algorithm>

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/sm90/f32_tensor_maps.cuh"
#include "cuda/kernels/sm90/pipeline.cuh"
#include "cuda/kernels/sm90/register_multiply.cuh"
#include "cuda/kernels/sm90/splitk_reduce_global.hpp"

namespace exactile::cuda::sm90 {

/// `unsplit` has rows that run down the tiles, those of `sliced` run across. The K slices of `unsplit` are those of the
/// sum.
struct RegisterParameters {
  CUtensorMap unsplit_map[4];  ///< one, or where rows are misaligned one for each quarter of them
  CUtensorMap sliced_map;
  SplitOperand unsplit;
  SplitOperand sliced;
  bool by_tma;                ///< TMA can address what is not split
  F32TileLayout tile_layout;  ///< of what is not split; along K where that is contiguous, or nearest to it
  int row_tiles;
  int column_tiles;
  int batches;
  int cluster_size;  ///< CTAs with tiles one below the other, which share what is sliced
  SplitKPartials partials;
  bool is_transposed;  ///< rows of tiles are columns of C
  bool halves_chunks;  ///< the tensor cores sum half a chunk before f32 takes over
  bool after_split;    ///< the kernel before makes the slices, and nothing else: what is not split is there already
};

/// Columns that the tensor cores sum at a time, in registers beside the sums of all.
template <int columns>
inline constexpr int fragment_columns = columns % 72 == 0 ? 72
                                        : columns == 128  ? 128
                                                          : 64;

/// 64 of K of the other operand: a tile of the first 32, then of the rest.
template <int columns>
struct SlicedTile {
  alignas(1024) std::byte data[columns * chunk_k * Fp16x3::slices * 2];
};

/// What has been split is not needed any more, while its products are still being summed: so there are two pipelines.
template <int columns>
struct SplitPipelines {
  static constexpr int sliced_tiles = columns > 144 ? 2 : columns > 72 ? 3 : 4;
  static constexpr int unsplit_bytes = (224 << 10) - sliced_tiles * static_cast<int>(sizeof(SlicedTile<columns>));
  static constexpr int most_unsplit_tiles = unsplit_bytes / F32TileLayout::swizzled_bytes;

  SlicedTile<columns> sliced[sliced_tiles];
  alignas(1024) std::byte unsplit[unsplit_bytes];
  PipelineBarriers<sliced_tiles> of_sliced;
  PipelineBarriers<most_unsplit_tiles> of_unsplit;

  [[nodiscard]] __device__ std::byte* unsplit_tile(const F32TileLayout& tile_layout, int index) {
    return unsplit + index * (tile_layout.misaligned ? F32TileLayout::misaligned_bytes : F32TileLayout::swizzled_bytes);
  }
  [[nodiscard]] __device__ static int unsplit_tiles(const F32TileLayout& tile_layout) {
    return tile_layout.misaligned ? unsplit_bytes / F32TileLayout::misaligned_bytes : most_unsplit_tiles;
  }
};

/// Where a producer or a consumer is in both.
struct PipelineStates {
  PipelineState sliced;
  PipelineState unsplit;
};

/// A tile, and the K slice to be summed there.
struct SplitWorkTile {
  int row;
  int column;
  int batch;
  int k_slice;
  int first_chunk;
  int chunks;
};

/// Work tiles of a cluster, for the CTA `rank` in it. Tiles that share what is not split come one after the other.
[[nodiscard]] __device__ inline SplitWorkTile split_work_tile(const RegisterParameters& p, int index, int rank) {
  const int rows = (p.row_tiles + p.cluster_size - 1) / p.cluster_size;
  const int tile = index / p.column_tiles;
  const int batch = tile / rows % p.batches;
  const int k_slice = tile / rows / p.batches;
  const int chunks = blocks_of<Fp16x3>(p.unsplit.k) / Fp16x3::chunk_stages;
  const int slice_chunks = blocks_of<Fp16x3>(p.unsplit.slice_k()) / Fp16x3::chunk_stages;
  const int first = k_slice * slice_chunks;
  return {tile % rows * p.cluster_size + rank, index % p.column_tiles, batch, k_slice, first,
          min(slice_chunks, chunks - first)};
}

inline constexpr int copy_threads = 64;

/// By so many threads, each in turn: a chunk of what TMA cannot address.
__device__ inline void copy_unsplit(std::byte* tile, const SplitOperand& operand, bool k_major, const float* from,
                                    int row0, int k0) {
  const int thread = static_cast<int>(threadIdx.x) % copy_threads;
#pragma unroll 4
  for (int i = thread; i < tile_m * chunk_k; i += copy_threads) {
    const int row = k_major ? i / chunk_k : i % tile_m;
    const int k = k_major ? i % chunk_k : i / tile_m;
    const bool is_there = row0 + row < operand.rows && k0 + k < operand.k;
    const float* at = from + (row0 + row) * operand.layout.row_stride + (k0 + k) * operand.layout.column_stride;
    isa::copy_async<4>(tile + F32TileLayout::swizzled(k_major, row, k), is_there ? at : from, is_there ? 4 : 0);
  }
}

/// By one thread of each CTA of a cluster, which loads its share of a chunk for all.
template <int columns>
__device__ inline void load_sliced(SlicedTile<columns>& tile, const RegisterParameters& p, int column0, int k0,
                                   int batch, int rank, std::uint64_t* full) {
  isa::mbarrier_arrive_expect(full, sizeof tile.data);
  const int share = columns / p.cluster_size;
#pragma unroll
  for (int box = 0; box < Fp16x3::chunk_stages; ++box) {
    const int x = (k0 / block_k + box) * Fp16x3::row_bytes / 2;
    std::byte* to = tile.data + (box * columns + rank * share) * Fp16x3::row_bytes;
    const int row = column0 + rank * share;
    if (p.cluster_size == 1) {
      isa::tma_load(to, &p.sliced_map, x, row, batch, full);
    } else {
      isa::tma_load_multicast(to, &p.sliced_map, x, row, batch, full,
                              static_cast<std::uint16_t>((1 << p.cluster_size) - 1));
    }
  }
}

/// A pipeline's part of one tile of C; by its producers.
template <int columns>
__device__ inline void load_unsplit_chunks(SplitPipelines<columns>& pipelines, PipelineState& state,
                                           const RegisterParameters& p, const SplitWorkTile& work) {
  const int batch = p.unsplit.batches == 1 ? 0 : work.batch;
  for (int chunk = work.first_chunk; chunk < work.first_chunk + work.chunks; ++chunk) {
    isa::mbarrier_wait(&pipelines.of_unsplit.empty[state.index], state.parity ^ 1);
    std::byte* tile = pipelines.unsplit_tile(p.tile_layout, state.index);
    std::uint64_t* full = &pipelines.of_unsplit.full[state.index];
    if (p.by_tma) {
      load_f32_tile(tile, p.unsplit_map, p.tile_layout, work.row * tile_m, chunk * chunk_k, batch, full);
    } else {
      copy_unsplit(tile, p.unsplit, p.tile_layout.k_major, product_base(p.unsplit.data, p.unsplit.layout, batch),
                   work.row * tile_m, chunk * chunk_k);
      isa::mbarrier_arrive_after_copies(full);
    }
    state.advance(pipelines.unsplit_tiles(p.tile_layout));
  }
}

template <int columns>
__device__ inline void load_sliced_chunks(SplitPipelines<columns>& pipelines, PipelineState& state,
                                          const RegisterParameters& p, const SplitWorkTile& work, int rank) {
  const int batch =
      (p.sliced.split_k == 1 ? 0 : work.k_slice) * p.sliced.batches + (p.sliced.batches == 1 ? 0 : work.batch);
  const int first = p.sliced.split_k == 1 ? work.first_chunk : 0;
  for (int chunk = first; chunk < first + work.chunks; ++chunk) {
    isa::mbarrier_wait(&pipelines.of_sliced.empty[state.index], state.parity ^ 1);
    load_sliced(pipelines.sliced[state.index], p, work.column * columns, chunk * chunk_k, batch, rank,
                &pipelines.of_sliced.full[state.index]);
    state.advance(pipelines.sliced_tiles);
  }
}

/// Waits for a chunk and splits it.
template <int columns>
__device__ inline void take_chunk(ChunkSlices& slices, SplitPipelines<columns>& pipelines, const PipelineState& state,
                                  const F32TileLayout& tile_layout, const ElementPlaces& places, RowState (&rows)[2]) {
  const std::byte* tile = pipelines.unsplit_tile(tile_layout, state.index);
  isa::mbarrier_wait(&pipelines.of_unsplit.full[state.index], state.parity);
  split_tile(slices, tile, places, rows);
  __syncwarp();
  if (threadIdx.x % 32 == 0) isa::mbarrier_arrive(&pipelines.of_unsplit.empty[state.index]);
}

/// By a warp whose products with a tile have ended: all CTAs of the cluster may load over it.
__device__ inline void release(std::uint64_t* empty, int cluster_size) {
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (lane < cluster_size) isa::mbarrier_arrive_remote(empty, lane);
}

/// A thread's sums of a tile: of each fragment f, at [f][4j + 2r + c], its row r and column 8j + 2(lane % 4) + c.
template <int columns>
using RegisterSums = float[columns / fragment_columns<columns>][fragment_columns<columns> / 2];

/// The sums as they are: splitk_reduce() does the rest. Rows of partial sums are padded to an even number of elements.
template <int columns>
__device__ inline void store_sums(const RegisterParameters& p, const SplitWorkTile& work,
                                  const RegisterSums<columns>& sums, int row, int next_row) {
  const std::int64_t product = std::int64_t{work.k_slice} * p.batches + work.batch;
  const std::int64_t pitch = p.partials.pitch;
  const int first_column = work.column * columns + static_cast<int>(threadIdx.x) % 4 * 2;
  constexpr int in_fragment = fragment_columns<columns> / 8;
  const int columns_left = p.sliced.rows - first_column;
  const int rows_left = p.unsplit.rows - row;
  if (p.is_transposed) {
    float* to = p.partials.data + (product * p.sliced.rows + first_column) * pitch + row;
#pragma unroll
    for (int i = 0; i < columns / 8; ++i)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float* sum = &sums[i / in_fragment][i % in_fragment * 4 + c];
        if (8 * i + c >= columns_left) continue;
        float* at = to + (8 * i + c) * pitch;
        if (next_row == 1) {
          if (rows_left > 0) *reinterpret_cast<float2*>(at) = make_float2(sum[0], sum[2]);
        } else {
          if (rows_left > 0) at[0] = sum[0];
          if (rows_left > next_row) at[next_row] = sum[2];
        }
      }
  } else {
    float* to = p.partials.data + (product * p.unsplit.rows + row) * pitch + first_column;
#pragma unroll
    for (int i = 0; i < columns / 8; ++i)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float* sum = &sums[i / in_fragment][i % in_fragment * 4 + 2 * r];
        if (8 * i < columns_left && r * next_row < rows_left)
          *reinterpret_cast<float2*>(to + r * next_row * pitch + 8 * i) = make_float2(sum[0], sum[1]);
      }
  }
}

/// Ping-pong: the warpgroups multiply by turns. While the tensor cores work for one of them the other one splits. Left
/// to themselves they would do both at the same time.
struct PingPong {
  int own;  ///< barriers
  int other;

  __device__ PingPong() {
    constexpr int first = 1;  // 0 is __syncthreads
    const int warpgroup = static_cast<int>(threadIdx.x) / warpgroup_threads;
    own = first + warpgroup;
    other = first + 1 - warpgroup;
    if (warpgroup == 1) pass();
  }
  __device__ void wait() const { isa::named_barrier(own, consumers * warpgroup_threads); }
  __device__ void pass() const { isa::named_barrier_arrive(other, consumers * warpgroup_threads); }
};

/// A consumer warpgroup's part of one tile.
template <int columns>
__device__ inline void multiply_work(SplitPipelines<columns>& pipelines, PipelineStates& state,
                                     const RegisterParameters& p, const SplitWorkTile& work,
                                     const PingPong& ping_pong) {
  constexpr int fragment_n = fragment_columns<columns>;
  constexpr int fragments = columns / fragment_n;
  RegisterSums<columns> sums = {};
  const ElementPlaces places(p.tile_layout);
  RowState rows[2];
  ChunkSlices slices;
  for (int chunk = 0; chunk < work.chunks; ++chunk) {
    take_chunk(slices, pipelines, state.unsplit, p.tile_layout, places, rows);
    state.unsplit.advance(pipelines.unsplit_tiles(p.tile_layout));
    if (__any_sync(~0u, slices.shrink[0] != 1 || slices.shrink[1] != 1))
#pragma unroll
      for (int i = 0; i < columns / 2; ++i)
        sums[i / (fragment_n / 2)][i % (fragment_n / 2)] *= slices.shrink[i / 2 % 2];
    const std::uint64_t sliced =
        isa::wgmma_uniform(isa::wgmma_descriptor<Fp16x3::row_bytes>(pipelines.sliced[state.sliced.index].data));
    isa::mbarrier_wait(&pipelines.of_sliced.full[state.sliced.index], state.sliced.parity);
    ping_pong.wait();
#pragma unroll
    for (int f = 0; f < fragments; ++f) {
      float fragment[fragment_n / 2];
      const std::uint64_t fragment_sliced = isa::wgmma_further(sliced, f * fragment_n * Fp16x3::row_bytes);
      if (p.halves_chunks) {
        multiply_slices<columns, 0, fragment_steps>(fragment, slices, fragment_sliced);
        add_fragment(sums[f], fragment, slices);
        multiply_slices<columns, fragment_steps, fragment_steps>(fragment, slices, fragment_sliced);
      } else {
        multiply_slices<columns, 0, chunk_steps>(fragment, slices, fragment_sliced);
      }
      if (f == std::max(0, fragments - 2)) ping_pong.pass();
      if (f == fragments - 1) release(&pipelines.of_sliced.empty[state.sliced.index], p.cluster_size);
      add_fragment(sums[f], fragment, slices);
    }
    state.sliced.advance(pipelines.sliced_tiles);
  }
  const ElementRows in_tile(p.tile_layout);
  if (work.column == 0)
    store_scales(p.unsplit, work.k_slice, work.batch, rows, work.row * tile_m + in_tile.first, in_tile.step,
                 most_spread);
  store_sums<columns>(p, work, sums, work.row * tile_m + in_tile.first, in_tile.step);
}

/// Persistent: each CTA takes tiles in grid-stride order. Of the last warpgroup one warp loads what is sliced, the
/// others what is not.
template <int columns>
__global__ void __launch_bounds__(cta_threads, 1)
    multiply_register_split(const __grid_constant__ RegisterParameters p) {
  extern __shared__ __align__(1024) std::byte dynamic[];
  auto& pipelines = *reinterpret_cast<SplitPipelines<columns>*>(dynamic);
  constexpr int warps = consumers * warpgroup_threads / 32;
  if (threadIdx.x == 0) {
    pipelines.of_unsplit.initialise(p.by_tma ? 1 : copy_threads, warps);
    pipelines.of_sliced.initialise(1, p.cluster_size * warps);
    isa::mbarrier_init_fence();
  }
  isa::cluster_sync();

  const int rank = static_cast<int>(blockIdx.x) % p.cluster_size;
  const int clusters = static_cast<int>(gridDim.x) / p.cluster_size;
  const int work_tiles =
      (p.row_tiles + p.cluster_size - 1) / p.cluster_size * p.column_tiles * p.batches * p.unsplit.split_k;
  const auto for_all_work_tiles = [&](const auto& take) {
    for (int index = static_cast<int>(blockIdx.x) / p.cluster_size; index < work_tiles; index += clusters)
      take(split_work_tile(p, index, rank));
  };
  PipelineStates state;
  if (threadIdx.x < consumers * warpgroup_threads) {
    isa::registers_take<232>();
    const PingPong ping_pong;
    for_all_work_tiles([&](const SplitWorkTile& work) { multiply_work(pipelines, state, p, work, ping_pong); });
  } else {
    isa::registers_give<40>();
    if (!p.after_split || threadIdx.x == consumers * warpgroup_threads) isa::wait_for_kernel_before();
    const int thread = static_cast<int>(threadIdx.x) - consumers * warpgroup_threads;
    if (thread == 0)
      for_all_work_tiles(
          [&](const SplitWorkTile& work) { load_sliced_chunks(pipelines, state.sliced, p, work, rank); });
    else if (thread >= copy_threads && (!p.by_tma || thread == copy_threads))
      for_all_work_tiles([&](const SplitWorkTile& work) { load_unsplit_chunks(pipelines, state.unsplit, p, work); });
    isa::copy_async_wait<0>();
    __syncwarp();
  }
  // Nobody leaves while the other CTA still loads into it or arrives at its barriers.
  isa::cluster_sync();
}

}  // namespace exactile::cuda::sm90
