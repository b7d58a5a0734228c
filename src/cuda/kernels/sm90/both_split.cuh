// SPDX-License-Identifier: Apache-2.0
/// \file
/// Both operands split in the kernel that multiplies. A warpgroup for each takes chunks of it from shared memory,
/// splits them in registers (register_split.cuh), and puts their slices where their elements were. What A's rows are,
/// B's columns are too: lines.
#pragma once

#include "cuda/isa/store_matrix.cuh"
#include "cuda/kernels/sm90/register_split.cuh"
#include "cuda/kernels/sm90/ring.cuh"

namespace exactile::cuda::sm90 {

inline constexpr int both_n = 128;                                                    // columns of a tile
inline constexpr int splitters = 2;                                                   // warpgroups: of A, of B
inline constexpr int both_threads = (consumers + splitters + 1) * warpgroup_threads;  // the last one loads
inline constexpr int splitter_warps = warpgroup_threads / 32;
inline constexpr int first_splitter_barrier = 1;  // 0 is __syncthreads
static_assert(both_n == tile_m, "TileLines are as many");

/// Where a line's largest element grows its units grow by 2^this more.
inline constexpr int both_headroom = 3;

/// A chunk of one operand: f32 as TMA brings it, and then slices in their place.
struct BothTile {
  alignas(1024) std::byte data[TileLines::by_fours_bytes];
};

/// Where the slices are: for each half of the tile and each 32 of K, rows of 128 bytes. Each half of the slices has the
/// place of its own elements, as TileLines have them.
struct SlicePlaces {
  int half_bytes;  ///< from half to half
  int box_bytes;   ///< from 32 of K to the next

  __device__ explicit SlicePlaces(bool along_k)
      : half_bytes(64 * 128 * (along_k ? 1 : 2)), box_bytes(64 * 128 * (along_k ? 2 : 1)) {}
};
inline constexpr int both_stages = 3;
static_assert(sizeof(BothTile) >= TileLines::swizzled_bytes && TileLines::by_fours_bytes % 1024 == 0);

/// Of the lines of a chunk, in the order in which they lie in shared memory; as in ChunkSlices.
struct LineScales {
  alignas(16) float factor[both_n];
  alignas(16) float shrink[both_n];
  int shrinks[splitter_warps];  ///< whether any shrink of a warp's lines is not 1
};

/// What is known of the lines of a tile, once all of K has been split.
struct LineEnds {
  alignas(16) Line line[both_n];
  alignas(16) float error[both_n];   ///< quick_error()
  float most_error[splitter_warps];  ///< of a warp's lines
};

/// As many as tiles may be under way: whoever splits a tile's last chunk has seen that the stage before the ring's
/// others is free, so that everybody is done with the tile that many before.
inline constexpr int both_ends = both_stages + 1;

/// Of A, of B.
struct BothSpace {
  BothTile tile[both_stages][splitters];
  LineScales scales[both_stages][splitters];
  LineEnds ends[both_ends][splitters];
  RingBarriers<both_stages> of_stage;
  std::uint64_t sliced[both_stages];
  std::uint64_t ended[both_ends];
};

/// By a warp: slices of 16 lines, from `first` of a half on. Lines 2q and 2q + 1 of them become rows q and q + 8.
__device__ inline void store_slices(std::byte* half, const SlicePlaces& places, const SliceRegisters& slices,
                                    int first) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::byte* const row = half + (first + lane / 8 % 2 * 8 + lane % 8) * Fp16x3::row_bytes;
#pragma unroll
  for (int i = 0; i < Fp16x3::slices * chunk_steps; ++i) {
    const int slice = i / chunk_steps;
    const int step = i % chunk_steps;
    const int piece = Fp16x3::slice_offset(slice, both_n) / 16 + step % 2 * 2 + lane / 16;
    isa::store_matrices(row + step / 2 * places.box_bytes + (piece ^ lane % 8) * 16, slices[slice][step]);
  }
}

/// By a warpgroup: lines by fours become lines as they are elsewhere.
__device__ inline void straighten(std::byte* tile, const TileLines& lines, int thread, int barrier) {
  constexpr int count = tile_m * chunk_k / warpgroup_threads;
  const int places = lines.along_k ? chunk_k : tile_m;
  const int map_bytes = lines.count() / 4 * lines.pitch() * 4;
  const auto line = [&](int i) { return i * (warpgroup_threads / places) + thread / places; };
  const int place = thread % places;
  float x[count];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const int l = line(i);
    x[i] = *reinterpret_cast<const float*>(tile + l % 4 * map_bytes +
                                           (l / 4 * lines.pitch() + place + lines.shift[l % 4]) * 4);
  }
  isa::named_barrier(barrier, warpgroup_threads);
#pragma unroll
  for (int i = 0; i < count; ++i)
    *reinterpret_cast<float*>(tile + (lines.along_k ? TileLines::swizzled(true, line(i), place)
                                                    : TileLines::swizzled(false, place, line(i)))) = x[i];
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
struct LineSplit {
  bool along_k;
  int thread;             ///< of the warpgroup
  RowState states[2][2];  ///< of each half of the tile, this thread's two lines

  __device__ explicit LineSplit(bool runs_along_k)
      : along_k(runs_along_k), thread(static_cast<int>(threadIdx.x) % warpgroup_threads) {}

  /// The first of this thread's two lines in a half.
  [[nodiscard]] __device__ int line(int half) const { return half * 64 + thread / 32 * 16 + thread % 32 / 4 * 2; }

  /// Afterwards the slices are there for the tensor cores, once this thread has passed a barrier.
  __device__ void take(std::byte* tile, LineScales& scales, int barrier, int headroom) {
    const TileLines lines{along_k, false, {}};
    const SlicePlaces to(along_k);
    bool shrinks = false;
    // One half after the other by the same code, of which there is much.
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
      ChunkSlices slices;
      split_tile(slices, tile, ElementPlaces(lines, thread + half * warpgroup_threads), states[0], headroom);
      shrinks = shrinks || slices.shrink[0] != 1 || slices.shrink[1] != 1;
      if (thread % 4 == 0) {
        *reinterpret_cast<float2*>(scales.factor + line(half)) = make_float2(slices.factor[0], slices.factor[1]);
        *reinterpret_cast<float2*>(scales.shrink + line(half)) = make_float2(slices.shrink[0], slices.shrink[1]);
      }
      // Nobody's elements are needed any more. Along K only a warp's own have its slices in their place.
      if (along_k) {
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

  /// Four threads share four lines: each finds what one of them ends with.
  __device__ void end(LineEnds& ends, float tiny_scale) const {
    const int own = thread % 4;
    RowState state = states[0][0];
    float tiny[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      tiny[i] = states[i / 2][i % 2].tiny;
      if (own == i) state = states[i / 2][i % 2];
    }
    // In such units that the headroom does not make one of a small fraction. Inf becomes lost_line.
    constexpr int unit = 1 << both_headroom;
    const unsigned count = __float2uint_ru((sum_of_own(tiny, own) + state.spread_weight(most_spread)) * unit);
    const Line found = line_of<Fp16x3>(state.max_bits(), count, tiny_scale / unit);
    const float error = quick_error(found);
    ends.line[line(own / 2) + own % 2] = found;
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
