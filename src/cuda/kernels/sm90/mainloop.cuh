// SPDX-License-Identifier: Apache-2.0
/// \file
/// The main loop of a cluster of two CTAs, one above the other: one thread of each loads (TMA), two warpgroups multiply
/// (wgmma). Both CTAs use the same columns of B, so each loads half of them for both.
#pragma once

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/mbarrier.cuh"
#include "cuda/isa/tma.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/isa/wgmma.cuh"
#include "cuda/isa/wgmma_tile.cuh"
#include "cuda/kernels/sm90/slices.cuh"
#include "cuda/kernels/sm90/tile_scheduler.cuh"

namespace exactile::cuda::sm90 {

inline constexpr int cluster = 2;
inline constexpr int consumers = 2;  // warpgroups, one below the other
inline constexpr int tile_m = 64 * consumers;
inline constexpr int tile_n = 256;
inline constexpr int fragment_n = 128;  // what the tensor cores sum at a time
inline constexpr int fragments = tile_n / fragment_n;
inline constexpr int warpgroup_threads = 128;
inline constexpr int cta_threads = (consumers + 1) * warpgroup_threads;  // the last warpgroup loads

/// 64 x 256 of C in a warpgroup's registers. Thread 32w + l holds of each fragment f, at [f][4j + 2r + c], row
/// 16w + l / 4 + 8r and column 128f + 8j + 2(l % 4) + c.
using Accumulators = float[fragments][fragment_n / 2];

/// One stage of the pipeline in shared memory.
template <class Slices>
struct Stage {
  alignas(1024) std::byte a[tile_m * block_bytes<Slices>];
  alignas(1024) std::byte b[tile_n * block_bytes<Slices>];
};

template <class Slices>
struct Pipeline {
  Stage<Slices> stage[Slices::stages];
  std::uint64_t full[Slices::stages];
  std::uint64_t empty[Slices::stages];

  /// By one thread, before cluster_sync().
  __device__ void initialise() {
    for (int i = 0; i < Slices::stages; ++i) {
      isa::mbarrier_init(&full[i], 1);
      isa::mbarrier_init(&empty[i], cluster * consumers * warpgroup_threads / 32);
    }
    isa::mbarrier_init_fence();
  }
};

/// Where a producer or a consumer is in the pipeline.
template <class Slices>
struct StagedPipelineState {
  int stage = 0;
  std::uint32_t parity = 0;

  __device__ void advance() {
    if (++stage == Slices::stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// The producer thread's part of one tile of that many columns. `row` and `column` are those of its CTA.
template <class Slices, int width>
__device__ inline void load_tile(Pipeline<Slices>& pipeline, StagedPipelineState<Slices>& state, const CUtensorMap* a,
                                 const CUtensorMap* b, int row, int column, int a_batch, int b_batch, int first_block,
                                 int blocks) {
  constexpr int half = width / cluster;
  constexpr int box_elements = Slices::row_bytes / 2;
  const int rank = static_cast<int>(isa::cluster_rank());
  for (int block = first_block; block < first_block + blocks; ++block, state.advance()) {
    isa::mbarrier_wait(&pipeline.empty[state.stage], state.parity ^ 1);
    isa::mbarrier_arrive_expect(&pipeline.full[state.stage], (tile_m + width) * block_bytes<Slices>);
    Stage<Slices>& stage = pipeline.stage[state.stage];
#pragma unroll
    for (int box = 0; box < Slices::boxes; ++box) {
      const int x = (block * Slices::boxes + box) * box_elements;
      isa::tma_load(stage.a + box * tile_m * Slices::row_bytes, a, x, row, a_batch, &pipeline.full[state.stage]);
      isa::tma_load_multicast(stage.b + (box * tile_n + rank * half) * Slices::row_bytes, b, x, column + rank * half,
                              b_batch, &pipeline.full[state.stage], (1 << cluster) - 1);
    }
  }
}

/// Where a chunk's tiles begin, of this warpgroup's rows of A and of all columns of B.
struct ChunkDescriptors {
  std::uint64_t a;
  std::uint64_t b;
};

/// fragment = the products of one chunk: all small products first, then the large ones, so that they are not lost.
template <class Slices, int columns>
__device__ inline void multiply_chunk(float (&fragment)[columns / 2], const ChunkDescriptors& chunk, int f) {
  bool accumulate = false;
  isa::pin(fragment);
  isa::wgmma_fence();
#pragma unroll
  for (int product = 0; product < Slices::products; ++product) {
    const SlicePair pair = Slices::product(product);
#pragma unroll
    for (int s = 0; s < Slices::chunk_stages; ++s) {
      constexpr int stage_bytes = sizeof(Stage<Slices>);
      const int a = s * stage_bytes + Slices::slice_offset(pair.a, tile_m);
      const int b = s * stage_bytes + Slices::slice_offset(pair.b, tile_n) + f * columns * Slices::row_bytes;
#pragma unroll
      for (int k = 0; k < block_k; k += 16) {
        isa::wgmma_tile<typename Slices::Element, columns, isa::Major::k, isa::Major::k>(
            fragment, isa::wgmma_further(chunk.a, a + 2 * k), isa::wgmma_further(chunk.b, b + 2 * k), accumulate);
        accumulate = true;
      }
    }
  }
  isa::wgmma_commit();
  isa::wgmma_wait<0>();
  isa::pin(fragment);
}

/// A consumer warpgroup's part of one tile of that many columns: sums += A * B, in f32 from chunk to chunk.
template <class Slices, int width>
__device__ inline void multiply_tile(Accumulators& sums, Pipeline<Slices>& pipeline, StagedPipelineState<Slices>& state,
                                     int warpgroup, int blocks) {
  constexpr int columns = width < fragment_n ? width : fragment_n;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int block = 0; block < blocks; block += Slices::chunk_stages) {
    const int first_stage = state.stage;
    const Stage<Slices>& first = pipeline.stage[first_stage];
    const ChunkDescriptors chunk{
        isa::wgmma_uniform(isa::wgmma_descriptor<Slices::row_bytes>(first.a + warpgroup * 64 * Slices::row_bytes)),
        isa::wgmma_uniform(isa::wgmma_descriptor<Slices::row_bytes>(first.b))};
#pragma unroll
    for (int s = 0; s < Slices::chunk_stages; ++s, state.advance())
      isa::mbarrier_wait(&pipeline.full[state.stage], state.parity);
#pragma unroll
    for (int f = 0; f < width / columns; ++f) {
      float fragment[columns / 2];
      multiply_chunk<Slices, columns>(fragment, chunk, f);
      // This warp has read what it will: both CTAs may load over it.
      if (f == width / columns - 1 && lane < cluster)
#pragma unroll
        for (int s = 0; s < Slices::chunk_stages; ++s)
          isa::mbarrier_arrive_remote(&pipeline.empty[first_stage + s], lane);
#pragma unroll
      for (int i = 0; i < columns / 2; ++i) sums[f][i] += fragment[i];
    }
  }
}

}  // namespace exactile::cuda::sm90
