// SPDX-License-Identifier: Apache-2.0
/// \file
/// f32 products of which one operand stays as it is until it is in registers (register_split.cuh); only the other one
/// is split ahead. For products of few columns or rows, that is half of the work of a split, or nearly all of it.
#pragma once

#include <algorithm>

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/sm90/combine.hpp"
#include "cuda/kernels/sm90/register_multiply.cuh"
#include "cuda/kernels/sm90/ring.cuh"
#include "cuda/kernels/sm90/unsplit_maps.cuh"

namespace exactile::cuda::sm90 {

/// `unsplit` has rows that run down the tiles, those of `sliced` run across. The parts of `unsplit` are those of the
/// sum.
struct RegisterParameters {
  CUtensorMap unsplit_map[4];  ///< one, or by fours one for each quarter of the lines
  CUtensorMap sliced_map;
  SplitOperand unsplit;
  SplitOperand sliced;
  bool by_tma;      ///< TMA can address what is not split
  TileLines lines;  ///< of what is not split; along K where that is contiguous, or nearest to it
  int row_tiles;
  int column_tiles;
  int batches;
  int cluster_size;  ///< CTAs with tiles one below the other, which share what is sliced
  Partials partials;
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

/// What has been split is not needed any more, while its products are still being summed: so there are two rings.
template <int columns>
struct RegisterRings {
  static constexpr int sliced_tiles = columns > 144 ? 2 : columns > 72 ? 3 : 4;
  static constexpr int unsplit_bytes = (224 << 10) - sliced_tiles * static_cast<int>(sizeof(SlicedTile<columns>));
  static constexpr int most_unsplit_tiles = unsplit_bytes / TileLines::swizzled_bytes;

  SlicedTile<columns> sliced[sliced_tiles];
  alignas(1024) std::byte unsplit[unsplit_bytes];
  RingBarriers<sliced_tiles> of_sliced;
  RingBarriers<most_unsplit_tiles> of_unsplit;

  [[nodiscard]] __device__ std::byte* unsplit_tile(const TileLines& lines, int index) {
    return unsplit + index * (lines.by_fours ? TileLines::by_fours_bytes : TileLines::swizzled_bytes);
  }
  [[nodiscard]] __device__ static int unsplit_tiles(const TileLines& lines) {
    return lines.by_fours ? unsplit_bytes / TileLines::by_fours_bytes : most_unsplit_tiles;
  }
};

/// Where somebody is in both.
struct RingSteps {
  RingStep sliced;
  RingStep unsplit;
};

/// A tile, and a part of K to be summed there.
struct RegisterWork {
  int row;
  int column;
  int batch;
  int part;
  int first_chunk;
  int chunks;
};

/// Works of a cluster, for the CTA `rank` in it. Tiles that share what is not split come one after the other.
[[nodiscard]] __device__ inline RegisterWork register_work(const RegisterParameters& p, int index, int rank) {
  const int rows = (p.row_tiles + p.cluster_size - 1) / p.cluster_size;
  const int tile = index / p.column_tiles;
  const int batch = tile / rows % p.batches;
  const int part = tile / rows / p.batches;
  const int chunks = blocks_of<Fp16x3>(p.unsplit.k) / Fp16x3::chunk_stages;
  const int part_chunks = blocks_of<Fp16x3>(p.unsplit.depth()) / Fp16x3::chunk_stages;
  const int first = part * part_chunks;
  return {tile % rows * p.cluster_size + rank, index % p.column_tiles, batch, part, first,
          min(part_chunks, chunks - first)};
}

inline constexpr int copy_threads = 64;

/// By so many threads, each in turn: a chunk of what TMA cannot address.
__device__ inline void copy_unsplit(std::byte* tile, const SplitOperand& operand, bool along_k, const float* from,
                                    int row0, int k0) {
  const int thread = static_cast<int>(threadIdx.x) % copy_threads;
#pragma unroll 4
  for (int i = thread; i < tile_m * chunk_k; i += copy_threads) {
    const int row = along_k ? i / chunk_k : i % tile_m;
    const int k = along_k ? i % chunk_k : i / tile_m;
    const bool is_there = row0 + row < operand.rows && k0 + k < operand.k;
    const float* at = from + (row0 + row) * operand.layout.row_stride + (k0 + k) * operand.layout.column_stride;
    isa::copy_async<4>(tile + TileLines::swizzled(along_k, row, k), is_there ? at : from, is_there ? 4 : 0);
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

/// A ring's part of one tile of C; by the loaders of that ring.
template <int columns>
__device__ inline void load_unsplit_chunks(RegisterRings<columns>& rings, RingStep& at, const RegisterParameters& p,
                                           const RegisterWork& work) {
  const int batch = p.unsplit.batches == 1 ? 0 : work.batch;
  for (int chunk = work.first_chunk; chunk < work.first_chunk + work.chunks; ++chunk) {
    isa::mbarrier_wait(&rings.of_unsplit.empty[at.index], at.parity ^ 1);
    std::byte* tile = rings.unsplit_tile(p.lines, at.index);
    std::uint64_t* full = &rings.of_unsplit.full[at.index];
    if (p.by_tma) {
      load_unsplit(tile, p.unsplit_map, p.lines, work.row * tile_m, chunk * chunk_k, batch, full);
    } else {
      copy_unsplit(tile, p.unsplit, p.lines.along_k, product_base(p.unsplit.data, p.unsplit.layout, batch),
                   work.row * tile_m, chunk * chunk_k);
      isa::mbarrier_arrive_after_copies(full);
    }
    at.advance(rings.unsplit_tiles(p.lines));
  }
}

template <int columns>
__device__ inline void load_sliced_chunks(RegisterRings<columns>& rings, RingStep& at, const RegisterParameters& p,
                                          const RegisterWork& work, int rank) {
  const int batch = (p.sliced.parts == 1 ? 0 : work.part) * p.sliced.batches + (p.sliced.batches == 1 ? 0 : work.batch);
  const int first = p.sliced.parts == 1 ? work.first_chunk : 0;
  for (int chunk = first; chunk < first + work.chunks; ++chunk) {
    isa::mbarrier_wait(&rings.of_sliced.empty[at.index], at.parity ^ 1);
    load_sliced(rings.sliced[at.index], p, work.column * columns, chunk * chunk_k, batch, rank,
                &rings.of_sliced.full[at.index]);
    at.advance(rings.sliced_tiles);
  }
}

/// Waits for a chunk and splits it.
template <int columns>
__device__ inline void take_chunk(ChunkSlices& slices, RegisterRings<columns>& rings, const RingStep& at,
                                  const TileLines& lines, const ElementPlaces& places, RowState (&rows)[2]) {
  const std::byte* tile = rings.unsplit_tile(lines, at.index);
  isa::mbarrier_wait(&rings.of_unsplit.full[at.index], at.parity);
  split_tile(slices, tile, places, rows);
  __syncwarp();
  if (threadIdx.x % 32 == 0) isa::mbarrier_arrive(&rings.of_unsplit.empty[at.index]);
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

/// The sums as they are: combine_lines() does the rest. Rows of partial sums are padded to an even number of elements.
template <int columns>
__device__ inline void store_sums(const RegisterParameters& p, const RegisterWork& work,
                                  const RegisterSums<columns>& sums, int row, int next_row) {
  const std::int64_t product = std::int64_t{work.part} * p.batches + work.batch;
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

/// The warpgroups multiply by turns: while the tensor cores work for one of them the other one splits. Left to
/// themselves they would do both at the same time.
struct Turns {
  int own;  ///< barriers
  int other;

  __device__ Turns() {
    constexpr int first = 1;  // 0 is __syncthreads
    const int warpgroup = static_cast<int>(threadIdx.x) / warpgroup_threads;
    own = first + warpgroup;
    other = first + 1 - warpgroup;
    if (warpgroup == 1) pass();
  }
  __device__ void wait() const { isa::named_barrier(own, consumers * warpgroup_threads); }
  __device__ void pass() const { isa::named_barrier_arrive(other, consumers * warpgroup_threads); }
};

/// A multiplying warpgroup's part of one tile.
template <int columns>
__device__ inline void multiply_work(RegisterRings<columns>& rings, RingSteps& at, const RegisterParameters& p,
                                     const RegisterWork& work, const Turns& turns) {
  constexpr int fragment_n = fragment_columns<columns>;
  constexpr int fragments = columns / fragment_n;
  RegisterSums<columns> sums = {};
  const ElementPlaces places(p.lines);
  RowState rows[2];
  ChunkSlices slices;
  for (int chunk = 0; chunk < work.chunks; ++chunk) {
    take_chunk(slices, rings, at.unsplit, p.lines, places, rows);
    at.unsplit.advance(rings.unsplit_tiles(p.lines));
    if (__any_sync(~0u, slices.shrink[0] != 1 || slices.shrink[1] != 1))
#pragma unroll
      for (int i = 0; i < columns / 2; ++i)
        sums[i / (fragment_n / 2)][i % (fragment_n / 2)] *= slices.shrink[i / 2 % 2];
    const std::uint64_t sliced =
        isa::wgmma_uniform(isa::wgmma_descriptor<Fp16x3::row_bytes>(rings.sliced[at.sliced.index].data));
    isa::mbarrier_wait(&rings.of_sliced.full[at.sliced.index], at.sliced.parity);
    turns.wait();
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
      if (f == std::max(0, fragments - 2)) turns.pass();
      if (f == fragments - 1) release(&rings.of_sliced.empty[at.sliced.index], p.cluster_size);
      add_fragment(sums[f], fragment, slices);
    }
    at.sliced.advance(rings.sliced_tiles);
  }
  const ElementRows in_tile(p.lines);
  if (work.column == 0)
    store_facts(p.unsplit, work.part, work.batch, rows, work.row * tile_m + in_tile.first, in_tile.step, most_spread);
  store_sums<columns>(p, work, sums, work.row * tile_m + in_tile.first, in_tile.step);
}

/// Persistent: each CTA takes every so-manieth tile. Of the last warpgroup one warp loads what is sliced, the others
/// what is not.
template <int columns>
__global__ void __launch_bounds__(cta_threads, 1) multiply_unsplit(const __grid_constant__ RegisterParameters p) {
  extern __shared__ __align__(1024) std::byte dynamic[];
  auto& rings = *reinterpret_cast<RegisterRings<columns>*>(dynamic);
  constexpr int warps = consumers * warpgroup_threads / 32;
  if (threadIdx.x == 0) {
    rings.of_unsplit.initialise(p.by_tma ? 1 : copy_threads, warps);
    rings.of_sliced.initialise(1, p.cluster_size * warps);
    isa::mbarrier_init_fence();
  }
  isa::cluster_sync();

  const int rank = static_cast<int>(blockIdx.x) % p.cluster_size;
  const int clusters = static_cast<int>(gridDim.x) / p.cluster_size;
  const int works = (p.row_tiles + p.cluster_size - 1) / p.cluster_size * p.column_tiles * p.batches * p.unsplit.parts;
  const auto for_all_works = [&](const auto& take) {
    for (int index = static_cast<int>(blockIdx.x) / p.cluster_size; index < works; index += clusters)
      take(register_work(p, index, rank));
  };
  RingSteps at;
  if (threadIdx.x < consumers * warpgroup_threads) {
    isa::registers_take<232>();
    const Turns turns;
    for_all_works([&](const RegisterWork& work) { multiply_work(rings, at, p, work, turns); });
  } else {
    isa::registers_give<40>();
    if (!p.after_split || threadIdx.x == consumers * warpgroup_threads) isa::wait_for_kernel_before();
    const int thread = static_cast<int>(threadIdx.x) - consumers * warpgroup_threads;
    if (thread == 0)
      for_all_works([&](const RegisterWork& work) { load_sliced_chunks(rings, at.sliced, p, work, rank); });
    else if (thread >= copy_threads && (!p.by_tma || thread == copy_threads))
      for_all_works([&](const RegisterWork& work) { load_unsplit_chunks(rings, at.unsplit, p, work); });
    isa::copy_async_wait<0>();
    __syncwarp();
  }
  // Nobody leaves while the other CTA still loads into it or arrives at its barriers.
  isa::cluster_sync();
}

}  // namespace exactile::cuda::sm90
