// SPDX-License-Identifier: Apache-2.0
/// \file
/// Both operands split in the kernel that multiplies. A warpgroup for each takes chunks of it from shared memory,
/// splits them in registers (register_split.cuh), and puts their slices where their elements were. A's rows and B's
/// columns are treated alike: both are called vectors.
#pragma once

#include "cuda/isa/store_matrix.cuh"
#include "cuda/kernels/sm90/pipeline.cuh"
#include "cuda/kernels/sm90/register_split.cuh"

namespace exactile::cuda::sm90 {

inline constexpr int fused_n = 128;                                                    // columns of a tile
inline constexpr int splitters = 2;                                                    // warpgroups: of A, of B
inline constexpr int fused_threads = (consumers + splitters + 1) * warpgroup_threads;  // the last one loads
inline constexpr int splitter_warps = warpgroup_threads / 32;
inline constexpr int first_splitter_barrier = 1;  // 0 is __syncthreads
static_assert(fused_n == tile_m, "TileLines are as many");

/// Where a vector's largest element grows its units grow by 2^this more.
inline constexpr int fused_headroom = 3;

/// A chunk of one operand: f32 as TMA brings it, and then slices in their place.
struct FusedTile {
  alignas(1024) std::byte data[F32TileLayout::misaligned_bytes];
};

/// Where the slices are: for each half of the tile and each 32 of K, rows of 128 bytes. Each half of the slices has the
/// place of its own elements, as F32TileLayout has them.
struct SlicePlaces {
  int half_bytes;  ///< from half to half
  int box_bytes;   ///< from 32 of K to the next

  __device__ explicit SlicePlaces(bool k_major)
      : half_bytes(64 * 128 * (k_major ? 1 : 2)), box_bytes(64 * 128 * (k_major ? 2 : 1)) {}
};
inline constexpr int fused_stages = 3;
static_assert(sizeof(FusedTile) >= F32TileLayout::swizzled_bytes && F32TileLayout::misaligned_bytes % 1024 == 0);

/// Of the vectors of a chunk, in the order in which they lie in shared memory; as in ChunkSlices.
struct ChunkScales {
  alignas(16) float factor[fused_n];
  alignas(16) float shrink[fused_n];
  int shrinks[splitter_warps];  ///< whether any shrink of a warp's vectors is not 1
};

/// Scales of the vectors of a tile, once all of K has been split.
struct FinalScales {
  alignas(16) PackedScale scale[fused_n];
  alignas(16) float error[fused_n];  ///< fast_path_error()
  float most_error[splitter_warps];  ///< of a warp's vectors
};

/// As many as tiles may be under way: whoever splits a tile's last chunk has seen that the stage before the pipeline's
/// others is free, so that everybody is done with the tile that many before.
inline constexpr int fused_ends = fused_stages + 1;

/// Of A, of B.
struct FusedShared {
  FusedTile tile[fused_stages][splitters];
  ChunkScales scales[fused_stages][splitters];
  FinalScales ends[fused_ends][splitters];
  PipelineBarriers<fused_stages> of_stage;
  std::uint64_t sliced[fused_stages];
  std::uint64_t ended[fused_ends];
};

/// By a warp: slices of 16 vectors, from `first` of a half on. Vectors 2q and 2q + 1 of them become rows q and q + 8.
__device__ inline void store_slices(std::byte* half, const SlicePlaces& places, const SliceRegisters& slices,
                                    int first) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::byte* const row = half + (first + lane / 8 % 2 * 8 + lane % 8) * Fp16x3::row_bytes;
#pragma unroll
  for (int i = 0; i < Fp16x3::slices * chunk_steps; ++i) {
    const int slice = i / chunk_steps;
    const int step = i % chunk_steps;
    const int piece = Fp16x3::slice_offset(slice, fused_n) / 16 + step % 2 * 2 + lane / 16;
    isa::store_matrices(row + step / 2 * places.box_bytes + (piece ^ lane % 8) * 16, slices[slice][step]);
  }
}

/// By a warpgroup: a misaligned tile becomes a swizzled one.
__device__ inline void realign(std::byte* tile, const F32TileLayout& tile_layout, int thread, int barrier) {
  constexpr int count = tile_m * chunk_k / warpgroup_threads;
  const int places = tile_layout.k_major ? chunk_k : tile_m;
  const int map_bytes = tile_layout.count() / 4 * tile_layout.pitch() * 4;
  const auto line = [&](int i) { return i * (warpgroup_threads / places) + thread / places; };
  const int place = thread % places;
  float x[count];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const int l = line(i);
    x[i] = *reinterpret_cast<const float*>(tile + l % 4 * map_bytes +
                                           (l / 4 * tile_layout.pitch() + place + tile_layout.shift[l % 4]) * 4);
  }
  isa::named_barrier(barrier, warpgroup_threads);
#pragma unroll
  for (int i = 0; i < count; ++i)
    *reinterpret_cast<float*>(tile + (tile_layout.k_major ? F32TileLayout::swizzled(true, line(i), place)
                                                          : F32TileLayout::swizzled(false, place, line(i)))) = x[i];
  isa::named_barrier(barrier, warpgroup_threads);
}

/// By four threads, with four numbers each: the sum of all those at the thread's own place.
[[nodiscard]] __device__ inline float sum_of_own(const float (&x)[4], int own) {
  const bool is_high = own / 2 != 0;
  const bool is_odd = own % 2 != 0;
  const float even = (is_high ? x[2] : x[0]) + __shfl_xor_sync(~0u, is_high ? x[0] : x[2], 2);
  const float odd = (is_high ? x[3] : x[1]) + __shfl_xor_sync(~0u, is_high ? x[1] : x[3], 2);
  return (is_odd ? odd : even) + __shfl_xor_sync(~0u, is_odd ? even : odd, 1);
}

/// A splitting warpgroup's part of one tile.
struct VectorSplit {
  bool k_major;
  int thread;             ///< of the warpgroup
  RowState states[2][2];  ///< of each half of the tile, this thread's two vectors

  __device__ explicit VectorSplit(bool is_k_major)
      : k_major(is_k_major), thread(static_cast<int>(threadIdx.x) % warpgroup_threads) {}

  /// The first of this thread's two vectors in a half.
  [[nodiscard]] __device__ int line(int half) const { return half * 64 + thread / 32 * 16 + thread % 32 / 4 * 2; }

  /// Afterwards the slices are there for the tensor cores, once this thread has passed a barrier.
  __device__ void take(std::byte* tile, ChunkScales& scales, int barrier, int headroom) {
    const F32TileLayout tile_layout{k_major, false, {}};
    const SlicePlaces to(k_major);
    bool shrinks = false;
    // One half after the other by the same code, of which there is much.
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
      ChunkSlices slices;
      split_tile(slices, tile, ElementPlaces(tile_layout, thread + half * warpgroup_threads), states[0], headroom);
      shrinks = shrinks || slices.shrink[0] != 1 || slices.shrink[1] != 1;
      if (thread % 4 == 0) {
        *reinterpret_cast<float2*>(scales.factor + line(half)) = make_float2(slices.factor[0], slices.factor[1]);
        *reinterpret_cast<float2*>(scales.shrink + line(half)) = make_float2(slices.shrink[0], slices.shrink[1]);
      }
      // Nobody's elements are needed any more. Along K only a warp's own have its slices in their place.
      if (k_major) {
        __syncwarp();
      } else {
        isa::named_barrier(barrier, warpgroup_threads);
      }
      store_slices(tile + half * to.half_bytes, to, slices.slice, thread / 32 * 16);
      swap_halves();
    }
    shrinks = __any_sync(~0u, shrinks);
    if (thread % 32 == 0) scales.shrinks[thread / 32] = shrinks ? 1 : 0;
    isa::async_proxy_fence();
  }

  /// Four threads share four vectors: each finds what one of them ends with.
  __device__ void end(FinalScales& ends, float underflow_scale) const {
    const int own = thread % 4;
    RowState state = states[0][0];
    float underflows[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      underflows[i] = states[i / 2][i % 2].underflows;
      if (own == i) state = states[i / 2][i % 2];
    }
    // In such units that the headroom does not make one of a small fraction. Inf becomes lost_scale.
    constexpr int unit = 1 << fused_headroom;
    const unsigned count = __float2uint_ru((sum_of_own(underflows, own) + state.spread_weight(most_spread)) * unit);
    const PackedScale found = packed_scale<Fp16x3>(state.max_bits(), count, underflow_scale / unit);
    const float error = fast_path_error(found);
    ends.scale[line(own / 2) + own % 2] = found;
    ends.error[line(own / 2) + own % 2] = error;
    const int most = __reduce_max_sync(~0u, __float_as_int(error));  // none is negative but -Inf
    if (thread % 32 == 0) ends.most_error[thread / 32] = __int_as_float(most);
  }

 private:
  __device__ void swap_halves() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const RowState state = states[0][r];
      states[0][r] = states[1][r];
      states[1][r] = state;
    }
  }
};

}  // namespace exactile::cuda::sm90
