// SPDX-License-Identifier: Apache-2.0
/// \file
/// f32 products of which one operand stays as it is until it is in registers (register_split.cuh); only the other one
/// is split ahead. For products of few columns or rows, that is half of the work of a split, or nearly all of it.
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/sm90/combine.hpp"
#include "cuda/kernels/sm90/register_split.cuh"

namespace exactile::cuda::sm90 {

/// `unsplit` has rows that run down the tiles, those of `sliced` run across. The parts of `unsplit` are those of the
/// sum.
struct RegisterParameters {
  CUtensorMap unsplit_map;
  CUtensorMap sliced_map;
  SplitOperand unsplit;
  SplitOperand sliced;
  bool by_tma;   ///< TMA can address what is not split
  bool along_k;  ///< its K is contiguous, or nearest to it
  int row_tiles;
  int column_tiles;
  int batches;
  int cluster_size;  ///< CTAs with tiles one below the other, which share what is sliced
  Partials partials;
  bool is_transposed;  ///< rows of tiles are columns of C
};

template <int columns>
struct RegisterStage {
  RegisterTile unsplit;
  alignas(1024) std::byte sliced[columns * chunk_k * Fp16x3::slices * 2];
};

template <int columns>
inline constexpr int register_stages = columns > 128  ? 2
                                       : columns > 64 ? 3
                                                      : 4;

template <int columns>
struct RegisterRing {
  static constexpr int stages = register_stages<columns>;
  RegisterStage<columns> stage[stages];
  std::uint64_t full[stages];
  std::uint64_t empty[stages];

  /// By one thread.
  __device__ void initialise(bool by_tma, int cluster_size) {
    for (int i = 0; i < stages; ++i) {
      isa::mbarrier_init(&full[i], by_tma ? 1 : 1 + warpgroup_threads);
      isa::mbarrier_init(&empty[i], cluster_size * consumers * warpgroup_threads / 32);
    }
    isa::mbarrier_init_fence();
  }
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

/// By the loading warpgroup, each thread in turn: a chunk of what TMA cannot address.
__device__ inline void copy_unsplit(RegisterTile& tile, const SplitOperand& operand, bool along_k, const float* from,
                                    int row0, int k0) {
  const int thread = static_cast<int>(threadIdx.x) % warpgroup_threads;
  const int row_step = along_k ? warpgroup_threads / chunk_k : 0;
  const int k_step = along_k ? 0 : 1;
  int row = along_k ? thread / chunk_k : thread;
  int k = along_k ? thread % chunk_k : 0;
  const std::int64_t step = row_step * operand.layout.row_stride + k_step * operand.layout.column_stride;
  const float* at = from + (row0 + row) * operand.layout.row_stride + (k0 + k) * operand.layout.column_stride;
#pragma unroll 4
  for (int i = 0; i < tile_m * chunk_k / warpgroup_threads; ++i, row += row_step, k += k_step, at += step) {
    const bool is_there = row0 + row < operand.rows && k0 + k < operand.k;
    isa::copy_async<4>(tile.data + RegisterTile::offset(along_k, row, k), is_there ? at : from, is_there ? 4 : 0);
  }
}

/// Where a warpgroup is in the ring.
template <int columns>
struct RegisterPlace {
  int stage = 0;
  std::uint32_t parity = 0;

  __device__ void advance() {
    if (++stage == register_stages<columns>) {
      stage = 0;
      parity ^= 1;
    }
  }
};

template <int columns>
__device__ inline void load_work(RegisterRing<columns>& ring, RegisterPlace<columns>& place,
                                 const RegisterParameters& p, const RegisterWork& work, int rank) {
  const bool is_first = threadIdx.x % warpgroup_threads == 0;
  const int unsplit_batch = p.unsplit.batches == 1 ? 0 : work.batch;
  const int sliced_batch =
      (p.sliced.parts == 1 ? 0 : work.part) * p.sliced.batches + (p.sliced.batches == 1 ? 0 : work.batch);
  const int sliced_first = p.sliced.parts == 1 ? 0 : work.first_chunk;
  const int share = columns / p.cluster_size;
  for (int chunk = work.first_chunk; chunk < work.first_chunk + work.chunks; ++chunk) {
    isa::mbarrier_wait(&ring.empty[place.stage], place.parity ^ 1);
    RegisterStage<columns>& to = ring.stage[place.stage];
    std::uint64_t* full = &ring.full[place.stage];
    if (is_first) {
      isa::mbarrier_arrive_expect(full, sizeof to.sliced + (p.by_tma ? sizeof to.unsplit.data : 0));
#pragma unroll
      for (int box = 0; box < Fp16x3::chunk_stages; ++box) {
        const int x = ((chunk - sliced_first) * Fp16x3::chunk_stages + box) * Fp16x3::row_bytes / 2;
        std::byte* shared = to.sliced + (box * columns + rank * share) * Fp16x3::row_bytes;
        const int row = work.column * columns + rank * share;
        if (p.cluster_size == 1) {
          isa::tma_load(shared, &p.sliced_map, x, row, sliced_batch, full);
        } else {
          isa::tma_load_multicast(shared, &p.sliced_map, x, row, sliced_batch, full, (1 << cluster) - 1);
        }
      }
      if (p.by_tma) {
        // One load brings 32 elements of all lines.
        const int boxes = (p.along_k ? chunk_k : tile_m) / 32;
        const int box_bytes = static_cast<int>(sizeof to.unsplit.data) / boxes;
        for (int box = 0; box < boxes; ++box) {
          const int x = p.along_k ? chunk * chunk_k + box * 32 : work.row * tile_m + box * 32;
          const int y = p.along_k ? work.row * tile_m : chunk * chunk_k;
          isa::tma_load(to.unsplit.data + box * box_bytes, &p.unsplit_map, x, y, unsplit_batch, full);
        }
      }
    }
    if (!p.by_tma) {
      copy_unsplit(to.unsplit, p.unsplit, p.along_k, product_base(p.unsplit.data, p.unsplit.layout, unsplit_batch),
                   work.row * tile_m, chunk * chunk_k);
      isa::mbarrier_arrive_after_copies(full);
    }
    place.advance();
  }
}

/// As isa::pin().
__device__ inline void pin(ChunkSlices& slices) {
#pragma unroll
  for (int i = 0; i < Fp16x3::slices * chunk_steps; ++i) isa::pin(slices.slice[i / chunk_steps][i % chunk_steps]);
}

/// fragment = the products of one chunk, small ones first. The tensor cores read the slices until they have ended,
/// which the compiler does not know.
template <int columns>
__device__ inline void multiply_slices(float (&fragment)[columns / 2], ChunkSlices& slices, const std::byte* sliced) {
  isa::pin(fragment);
  pin(slices);
  isa::wgmma_fence();
#pragma unroll
  for (int i = 0; i < Fp16x3::products * chunk_steps; ++i) {
    const SlicePair pair = Fp16x3::product(i / chunk_steps);
    const int k = i % chunk_steps * 16;
    const std::uint64_t b =
        isa::wgmma_descriptor<Fp16x3::row_bytes>(sliced + k / block_k * columns * Fp16x3::row_bytes);
    isa::wgmma_registers(fragment, slices.slice[pair.a][i % chunk_steps],
                         b + ((Fp16x3::slice_offset(pair.b, columns) + k % block_k * 2) >> 4), i != 0);
  }
  isa::wgmma_commit();
  isa::wgmma_wait<0>();
  isa::pin(fragment);
  pin(slices);
}

/// Waits for a chunk and splits it.
template <int columns>
__device__ inline void take_chunk(ChunkSlices& slices, RegisterRing<columns>& ring, const RegisterPlace<columns>& at,
                                  const ElementPlaces& places, RowState (&rows)[2]) {
  isa::mbarrier_wait(&ring.full[at.stage], at.parity);
  ChunkElements x;
  load_elements(x, ring.stage[at.stage].unsplit, places);
  split_chunk(slices, x, rows);
  if (__any_sync(~0u, slices.may_be_tiny)) {
    load_elements(x, ring.stage[at.stage].unsplit, places);
#pragma unroll
    for (int r = 0; r < 2; ++r) rows[r].tiny += tiny_weight(x, r, slices.scale[r]) * slices.factor[r];
  }
}

/// By a warp that has read what it will of a stage: all CTAs of the cluster may load over it.
__device__ inline void release(std::uint64_t* empty, int cluster_size) {
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (lane < cluster_size) isa::mbarrier_arrive_remote(empty, lane);
}

/// A multiplying warpgroup's part of one tile. While the tensor cores work for one warpgroup the other one splits.
template <int columns>
__device__ inline void multiply_work(RegisterRing<columns>& ring, RegisterPlace<columns>& at,
                                     const RegisterParameters& p, const RegisterWork& work) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first_row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  float sums[columns / 2] = {};
  const ElementPlaces places(p.along_k, first_row, lane % 4 * 2);
  RowState rows[2];
  ChunkSlices slices;
  for (int chunk = 0; chunk < work.chunks; ++chunk, at.advance()) {
    take_chunk(slices, ring, at, places, rows);
    if (__any_sync(~0u, slices.shrink[0] != 1 || slices.shrink[1] != 1))
#pragma unroll
      for (int i = 0; i < columns / 2; ++i) sums[i] *= slices.shrink[i / 2 % 2];
    float fragment[columns / 2];
    multiply_slices<columns>(fragment, slices, ring.stage[at.stage].sliced);
    release(&ring.empty[at.stage], p.cluster_size);
#pragma unroll
    for (int i = 0; i < columns / 2; ++i) sums[i] = fmaf(fragment[i], slices.factor[i / 2 % 2], sums[i]);
  }

  // Sums and lines as they are: combine_lines() does the rest.
  const std::int64_t product = std::int64_t{work.part} * p.batches + work.batch;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = work.row * tile_m + first_row + 8 * r;
    rows[r].tiny += __shfl_xor_sync(~0u, rows[r].tiny, 1);
    rows[r].tiny += __shfl_xor_sync(~0u, rows[r].tiny, 2);
    if (row >= p.unsplit.rows) continue;
    if (work.column == 0 && lane % 4 == 0) {
      const std::int64_t at =
          (std::int64_t{work.part} * p.unsplit.batches + (p.unsplit.batches == 1 ? 0 : work.batch)) *
              p.unsplit.facts_pitch +
          row;
      p.unsplit.facts.max_bits[at] = rows[r].max_bits();
      p.unsplit.facts.tiny[at] = rows[r].tiny_count();
    }
    const std::int64_t c_rows = p.is_transposed ? p.sliced.rows : p.unsplit.rows;
    float* to = p.partials.data + product * c_rows * p.partials.pitch;
    const int first_column = work.column * columns + lane % 4 * 2;
    if (p.is_transposed) {
      to += first_column * p.partials.pitch + row;
#pragma unroll
      for (int j = 0; j < columns / 8; ++j)
#pragma unroll
        for (int c = 0; c < 2; ++c)
          if (first_column + 8 * j + c < p.sliced.rows) to[(8 * j + c) * p.partials.pitch] = sums[4 * j + 2 * r + c];
    } else {
      to += row * p.partials.pitch + first_column;
#pragma unroll
      for (int j = 0; j < columns / 8; ++j)
        if (first_column + 8 * j < p.sliced.rows)  // the pitch is even
          *reinterpret_cast<float2*>(to + 8 * j) = make_float2(sums[4 * j + 2 * r], sums[4 * j + 2 * r + 1]);
    }
  }
}

/// Persistent: each CTA takes every so-manieth tile.
template <int columns>
__global__ void __launch_bounds__(cta_threads, 1) multiply_unsplit(const __grid_constant__ RegisterParameters p) {
  extern __shared__ __align__(1024) std::byte dynamic[];
  auto& ring = *reinterpret_cast<RegisterRing<columns>*>(dynamic);
  if (threadIdx.x == 0) ring.initialise(p.by_tma, p.cluster_size);
  isa::cluster_sync();
  isa::wait_for_kernel_before();

  const int rank = static_cast<int>(blockIdx.x) % p.cluster_size;
  const int clusters = static_cast<int>(gridDim.x) / p.cluster_size;
  const int works = (p.row_tiles + p.cluster_size - 1) / p.cluster_size * p.column_tiles * p.batches * p.unsplit.parts;
  RegisterPlace<columns> place;
  if (threadIdx.x >= consumers * warpgroup_threads) {
    isa::registers_give<56>();
    if (!p.by_tma || threadIdx.x == consumers * warpgroup_threads)
      for (int index = static_cast<int>(blockIdx.x) / p.cluster_size; index < works; index += clusters)
        load_work(ring, place, p, register_work(p, index, rank), rank);
    isa::copy_async_wait<0>();
    __syncwarp();
  } else {
    isa::registers_take<224>();
    for (int index = static_cast<int>(blockIdx.x) / p.cluster_size; index < works; index += clusters)
      multiply_work(ring, place, p, register_work(p, index, rank));
  }
  // Nobody leaves while the other CTA still loads into it or arrives at its barriers.
  isa::cluster_sync();
}

}  // namespace exactile::cuda::sm90
