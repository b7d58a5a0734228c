// SPDX-License-Identifier: Apache-2.0
/// \file
/// The producers of register_gemm.cuh: its pipelines, one for the operand that is split in registers and one for
/// slices, and what loads them.
#pragma once

#include <algorithm>

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/sm90/f32_tensor_maps.cuh"
#include "cuda/kernels/sm90/pipeline.cuh"
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

}  // namespace exactile::cuda::sm90
