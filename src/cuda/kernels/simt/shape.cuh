// SPDX-License-Identifier: Apache-2.0
/// \file
/// The SIMT engine's tiles, and which of their elements a thread computes. A warp's lanes form a lanes_m x lanes_n
/// grid; each lane owns groups of neighbours that fill 16 bytes, so that it reads its operands with the widest loads
/// and lanes of one row of the grid read the same address.
#pragma once

#include "cuda/kernels/simt/splitk_reduce.cuh"
#include "cuda/tile/summation_order.hpp"

namespace exactile::cuda::simt {

/// BM x BN x BK: tile of C and k of a panel. A thread computes TM x TN elements, a warp has LM x (32 / LM) lanes and
/// the block (BM / TM / LM) x (BN / TN / LN) warps. PieceK: see summation_order.hpp; a thread holds twice as many sums
/// where that is less than a chunk. Prefetch: how many k ahead of their use operands are loaded.
template <class InT, class OutT, int Bm, int Bn, int Bk, int Tm, int Tn, int Lm, int Stages, int BlocksPerSm,
          bool Mixed = false, int PieceK = chunk_k, int Prefetch = 1>
struct Shape {
  using In = InT;
  using Out = OutT;
  using Accumulator = DeviceAccumulator<In>;
  static constexpr int bm = Bm, bn = Bn, bk = Bk, tm = Tm, tn = Tn, lm = Lm, ln = 32 / Lm;
  static constexpr int stages = Stages, blocks_per_sm = BlocksPerSm;
  static constexpr int piece_k = PieceK, prefetch = Prefetch;
  static constexpr int warps_m = bm / (tm * lm), warps_n = bn / (tn * ln);
  static constexpr int threads = 32 * warps_m * warps_n;
  static_assert(bm % (tm * lm) == 0 && bn % (tn * ln) == 0 && chunk_k % bk == 0 && bk % 2 == 0);
  static_assert(piece_k % bk == 0 && chunk_k % piece_k == 0);
  static_assert(!Mixed || (lm > 1 && ln > 1));

  /// Where a lane lies in the grid of its warp: row after row, or Mixed, so that bit 0 of a lane's number tells columns
  /// apart and bit 1 rows. Then a lane loads the same 16 bytes as the one beside it or the one two further, and shared
  /// memory answers two quarters of a warp at once. What waits for shared memory gains; large tiles wait for registers.
  __device__ static int row_lane(int lane) { return Mixed ? lane / 2 % 2 + lane / (2 * ln) * 2 : lane / ln; }
  __device__ static int column_lane(int lane) { return Mixed ? lane % 2 + lane / 4 % (ln / 2) * 2 : lane % ln; }
};

/// The elements of a panel that a thread multiplies: Count of Extent, in groups of neighbours that lie Lanes groups
/// apart.
template <class Accumulator, int Count, int Lanes>
struct Strip {
  static constexpr int width =
      Count < 16 / static_cast<int>(sizeof(Accumulator)) ? Count : 16 / static_cast<int>(sizeof(Accumulator));
  static constexpr int groups = Count / width;
  static_assert(Count % width == 0);
  /// Place of element e, counted from the thread's first element.
  __host__ __device__ static constexpr int place(int e) { return e / width * (Lanes * width) + e % width; }
  /// Place of the thread's first element in the tile.
  __device__ static int first(int warp, int lane) { return warp * (Lanes * Count) + lane * width; }

  __device__ static void load(Accumulator (&to)[Count], const Accumulator* from) {
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      const auto pack = *reinterpret_cast<const Pack<Accumulator, width>*>(from + g * Lanes * width);
#pragma unroll
      for (int e = 0; e < width; ++e) to[g * width + e] = pack.at[e];
    }
  }
};

/// A thread's first row in the tile, and column.
template <class S>
[[nodiscard]] __device__ int first_row(int warp, int lane) {
  return Strip<typename S::Accumulator, S::tm, S::lm>::first(warp / S::warps_n, S::row_lane(lane));
}
template <class S>
[[nodiscard]] __device__ int first_column(int warp, int lane) {
  return Strip<typename S::Accumulator, S::tn, S::ln>::first(warp % S::warps_n, S::column_lane(lane));
}

}  // namespace exactile::cuda::simt
