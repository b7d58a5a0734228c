// SPDX-License-Identifier: Apache-2.0
/// \file
/// f32 products of which one operand stays as it is until it is in registers (register_split.cuh); only the other one
/// is split ahead. For products of few columns or rows, that is half of the work of a split, or nearly all of it.
#pragma once

#include <algorithm>

#include "cuda/isa/cluster.cuh"
#include "cuda/kernels/sm90/register_multiply.cuh"
#include "cuda/kernels/sm90/register_pipeline.cuh"

namespace exactile::cuda::sm90 {

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
using RegisterAccumulators = float[columns / fragment_columns<columns>][fragment_columns<columns> / 2];

/// The sums as they are: splitk_reduce() does the rest. Rows of partial sums are padded to an even number of elements.
template <int columns>
__device__ inline void store_sums(const RegisterParameters& p, const SplitWorkTile& work,
                                  const RegisterAccumulators<columns>& sums, int row, int next_row) {
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
  RegisterAccumulators<columns> sums = {};
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
