// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel of the sm80 family: a block computes a tile of C from a pipeline of stages of 128 bytes of K that
/// cp.async fills. Operands of 8 bits may lie in either direction. Blocks of a cluster may divide K; so may warps of a
/// block.
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/isa/mma_m16n8.cuh"
#include "cuda/isa/opaque.cuh"
#include "cuda/tile/cluster_sums.cuh"
#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm80 {

constexpr int stage_bytes = 128;  ///< of K, for each row of A and column of B
constexpr int stage_steps = stage_bytes / 32;
constexpr int most_ranks = 8;  ///< blocks of a tile: as many as a cluster has everywhere
constexpr int group_rows = 8;  ///< rows of tiles that are walked together, so that L2 serves their columns

/// A tile of C and the warps that share it: `slices` sets of them, each of which takes some of a stage's K.
template <int Rows, int Columns, int WarpRows, int WarpColumns, int Slices, int Stages, int Ctas>
struct Shape {
  static constexpr int rows = Rows, columns = Columns;
  static constexpr int warp_rows = WarpRows, warp_columns = WarpColumns;  ///< of C, for each warp
  static constexpr int warps_across = Columns / WarpColumns;
  static constexpr int slices = Slices;
  static constexpr int slice_warps = Rows / WarpRows * warps_across;
  static constexpr int threads = 32 * slice_warps * Slices;
  static constexpr int stages = Stages;
  static constexpr int ctas = Ctas;                                                                ///< on an SM
  static constexpr int a_pieces = Rows * stage_bytes / 16, b_pieces = Columns * stage_bytes / 16;  ///< of a stage
  static constexpr int line = Columns + 8;  ///< of sums in shared memory: rows two apart lie in other banks
  static constexpr int shared_bytes = 16 * Stages * (a_pieces + b_pieces);
  static_assert(4 * Rows * line <= shared_bytes);
};

/// Moved at once.
template <class T>
struct alignas(4 * sizeof(T)) Four {
  T at[4];
};

/// Vectors: rows of A, or columns of B.
template <class In>
struct Vectors {
  const In* data;
  std::int64_t stride;  ///< from vector to vector; of those that lie across, from one k to the next
  std::int64_t batch_stride;
  std::int64_t count;
  int width;  ///< bytes, 16, 8 or 4, that lie at multiples of themselves
};

template <class In, class Out>
struct Parameters {
  Vectors<In> a;
  Vectors<In> b;
  Out* c;
  OperandLayout c_layout;
  std::int64_t k;
  std::int64_t slice_k;  ///< of each of a tile's blocks, whole stages
  int ranks;             ///< blocks of a tile
  Epilogue<In, Out> epilogue;
};

/// An operand's part of a stage: lines of 16-byte pieces. A line is a vector, or, of vectors that lie Across, one k of
/// all. Sixteen lines are stored so that those that ldmatrix takes together follow one another, their pieces exchanged
/// so that the same piece of eight of them lies in all banks once.
template <bool Across, int Vectors>
struct Panel {
  static constexpr int per_line = (Across ? Vectors : stage_bytes) / 16;
  static constexpr int lines = Across ? stage_bytes : Vectors;

  [[nodiscard]] static __device__ int at(int slot, int piece) {
    return slot * per_line + (piece ^ slot / (8 / per_line) % per_line);
  }
  /// Even vectors before odd ones; of k, those of bytes 0 and 1 of each four before those of bytes 2 and 3.
  [[nodiscard]] static __device__ int line_of(int slot) {
    const int group = slot & ~15, half = slot >> 3 & 1, within = slot & 7;
    return group + (Across ? (within >> 1) * 4 + half * 2 + (within & 1) : within * 2 + half);
  }

  /// Of 16 vectors and 32 bytes of K: the even ones' first 16 bytes, the odd ones', then the last 16.
  static __device__ void load(std::uint32_t (&to)[4], const uint4* panel, int vector, int step) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (Across) {
      std::uint32_t pairs[4];  // two vectors of two k
      isa::load_matrices_transposed(pairs, panel + at(32 * step + lane, vector / 16));
#pragma unroll
      for (int half = 0; half < 4; half += 2) {
        to[half] = __byte_perm(pairs[half], pairs[half + 1], 0x6420);
        to[half + 1] = __byte_perm(pairs[half], pairs[half + 1], 0x7531);
      }
    } else {
      isa::load_matrices(to, panel + at(vector + lane % 16, 2 * step + lane / 16));
    }
  }
};

/// The copies of one operand, by all threads: neighbours copy neighbouring bytes of a line, as many as are aligned.
template <class In, class Panel, bool Across, int Threads>
class Copier {
 public:
  __device__ Copier(const Vectors<In>& v, std::int64_t product, std::int64_t first, std::int64_t k)
      : from_(reinterpret_cast<const char*>(v.data + product * v.batch_stride +
                                            (Across ? first + k * v.stride : first * v.stride + k))),
        line_bytes_(v.stride * size),
        count_(static_cast<int>(min(v.count - first, std::int64_t{stage_bytes}))),
        width_(size > 1 ? 16 : v.width) {}

  /// The next stage, of which so much of K is there; the rest, and vectors that are not there, become zeros.
  __device__ void copy(uint4* panel, int k) {
    if (width_ == 16)
      copy_lines<16>(panel, k);
    else if (width_ == 8)
      copy_lines<8>(panel, k);
    else
      copy_lines<4>(panel, k);
    from_ += Across ? stage_bytes * line_bytes_ : stage_bytes;
  }

 private:
  static constexpr int size = sizeof(In);

  template <int Bytes>
  __device__ void copy_lines(uint4* panel, int k) const {
    constexpr int in_line = 16 / Bytes * Panel::per_line, step = Threads / in_line;
    // Of narrow pieces there are more addresses than registers.
    const int thread = isa::opaque_thread();
    const int first = thread / in_line;
    const int byte = thread % in_line * Bytes;
    const int lines = Across ? k : count_, valid = max(min((Across ? count_ : k) * size - byte, Bytes), 0);
#pragma unroll(Bytes == 16 ? Panel::lines / step : 2)
    for (int i = 0; i < Panel::lines / step; ++i) {
      const int slot = first + i * step;
      const int line = step % 16 == 0 ? Panel::line_of(first) + i * step : Panel::line_of(slot);
      isa::copy_async<Bytes>(reinterpret_cast<char*>(panel + Panel::at(slot, byte / 16)) + byte % 16,
                             from_ + line * line_bytes_ + byte, line < lines ? valid : 0);
    }
  }

  const char* from_;  ///< the corner of the stage
  std::int64_t line_bytes_;
  int count_;  ///< vectors of the tile, if not more than a stage's lines
  int width_;
};

/// A warp's sums. Of 16 rows, lane l has 2 (l / 4) and the next; of 16 columns, the four from 4 (l % 4) on.
template <class In, class S>
class WarpTile {
 public:
  using Accumulator = DeviceAccumulator<In>;

  template <class A, class B>
  __device__ void add(const uint4* a_panel, const uint4* b_panel) {
#pragma unroll
    for (int step = 0; step < stage_steps / S::slices; ++step) {
      const int at = step * S::slices + slice();
      std::uint32_t a[row_tiles][4];
      std::uint32_t b[column_pairs][4];
#pragma unroll
      for (int i = 0; i < row_tiles; ++i) A::load(a[i], a_panel, first_row() + 16 * i, at);
#pragma unroll
      for (int j = 0; j < column_pairs; ++j) B::load(b[j], b_panel, first_column() + 16 * j, at);
#pragma unroll
      for (int i = 0; i < row_tiles; ++i)
#pragma unroll
        for (int j = 0; j < column_pairs; ++j)
#pragma unroll
          for (int odd = 0; odd < 2; ++odd) isa::mma<In>(sums_[i][j][odd], a[i], {b[j][odd], b[j][odd + 2]});
    }
  }

  /// The tile's sums, by all threads.
  __device__ void collect(Accumulator* tile) const {
#pragma unroll
    for (int slice_turn = 0; slice_turn < S::slices; ++slice_turn) {
      if (slice() == slice_turn) put(tile, slice_turn > 0);
      __syncthreads();
    }
  }

 private:
  static constexpr int row_tiles = S::warp_rows / 16;
  static constexpr int column_pairs = S::warp_columns / 16;

  [[nodiscard]] static __device__ int slice() { return static_cast<int>(threadIdx.x) / (32 * S::slice_warps); }
  [[nodiscard]] static __device__ int warp() { return static_cast<int>(threadIdx.x) / 32 % S::slice_warps; }
  [[nodiscard]] static __device__ int first_row() { return warp() / S::warps_across * S::warp_rows; }
  [[nodiscard]] static __device__ int first_column() { return warp() % S::warps_across * S::warp_columns; }

  __device__ void put(Accumulator* tile, bool adds) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
      for (int j = 0; j < column_pairs; ++j)
#pragma unroll
        for (int row = 0; row < 2; ++row) {
          auto* const four = reinterpret_cast<Four<Accumulator>*>(
              tile + (first_row() + 16 * i + lane / 4 * 2 + row) * S::line + first_column() + 16 * j + lane % 4 * 4);
          Four<Accumulator> x = adds ? *four : Four<Accumulator>{};
#pragma unroll
          for (int e = 0; e < 4; ++e) x.at[e] = cuda::add(x.at[e], sums_[i][j][e % 2][2 * row + e / 2]);
          *four = x;
        }
  }

  Accumulator sums_[row_tiles][column_pairs][2][4] = {};
};

/// Four neighbours of a row of C from the sums of all blocks of the tile.
template <class In, class Out, class Sum>
__device__ inline void store_four(const Parameters<In, Out>& w, Out* c, const Four<Sum>& x, std::int64_t i,
                                  std::int64_t j) {
  Out* const to = c + i * w.c_layout.row_stride + j * w.c_layout.column_stride;
  if (w.epilogue.is_plain && w.c_layout.column_stride == 1 && j + 4 <= w.b.count &&
      reinterpret_cast<std::uintptr_t>(to) % sizeof(Four<Out>) == 0) {
    Four<Out> narrowed;
#pragma unroll
    for (int e = 0; e < 4; ++e) narrowed.at[e] = narrow<Out>(x.at[e]);
    *reinterpret_cast<Four<Out>*>(to) = narrowed;
    return;
  }
#pragma unroll
  for (int e = 0; e < 4; ++e)
    if (j + e < w.b.count) w.epilogue.store(to + e * w.c_layout.column_stride, x.at[e], i, j + e);
}

/// Of the tile whose first element is (i0, j0), this block's share.
template <class S, class In, class Out, class Sum>
__device__ inline void store_tile(const Parameters<In, Out>& w, Out* c, const Sum* sums, int rank, std::int64_t i0,
                                  std::int64_t j0) {
  constexpr int in_row = S::columns / 4;
  for (int at = rank * S::threads + static_cast<int>(threadIdx.x); at < S::rows * in_row; at += w.ranks * S::threads) {
    const int row = at / in_row, column = at % in_row * 4;
    if (i0 + row >= w.a.count) return;
    const auto* const place = reinterpret_cast<const Four<Sum>*>(sums + row * S::line + column);
    Four<Sum> of_rank[most_ranks] = {*place};
    if (w.ranks > 1) {
#pragma unroll
      for (int r = 0; r < most_ranks; ++r)  // on their way at once
        of_rank[r] = r < w.ranks ? *in_cta(place, r) : Four<Sum>{};
#pragma unroll
      for (int r = 1; r < most_ranks; ++r)
#pragma unroll
        for (int e = 0; e < 4; ++e) of_rank[0].at[e] = add(of_rank[0].at[e], of_rank[r].at[e]);
    }
    store_four(w, c, of_rank[0], i0 + row, j0 + column);
  }
}

template <class In, class Out, class S, bool AAcross, bool BAcross>
__global__ void __launch_bounds__(S::threads, S::ctas) mma_kernel(const __grid_constant__ Parameters<In, Out> w) {
  extern __shared__ __align__(128) uint4 pipeline[];
  using A = Panel<AAcross, S::rows>;
  using B = Panel<BAcross, S::columns>;
  const auto ranks = static_cast<unsigned>(w.ranks);
  const unsigned rank = blockIdx.x % ranks, block = blockIdx.x / ranks;
  const auto tiles_down = static_cast<unsigned>((w.a.count + S::rows - 1) / S::rows);
  const auto tiles_across = static_cast<unsigned>((w.b.count + S::columns - 1) / S::columns);
  const unsigned product = block / (tiles_down * tiles_across), tile = block % (tiles_down * tiles_across);
  const unsigned group = tile / (group_rows * tiles_across) * group_rows, in_group = tile % (group_rows * tiles_across);
  const unsigned rows_here = min(tiles_down - group, static_cast<unsigned>(group_rows));
  const std::int64_t i0 = std::int64_t{S::rows} * (group + in_group % rows_here);
  const std::int64_t j0 = std::int64_t{S::columns} * (in_group / rows_here);
  const std::int64_t first_k = min(rank * w.slice_k, w.k);
  const std::int64_t end_k = min(first_k + w.slice_k, w.k);

  wait_for_kernel_before();
  Copier<In, A, AAcross, S::threads> a(w.a, product, i0, first_k);
  Copier<In, B, BAcross, S::threads> b(w.b, product, j0, first_k);
  constexpr int stage_k = stage_bytes / sizeof(In);
  const auto stage_at = [&](int stage) { return pipeline + stage * (S::a_pieces + S::b_pieces); };
  const auto copy = [&](int stage, std::int64_t rest) {
    const auto k = static_cast<int>(max(min(rest, std::int64_t{stage_k}), std::int64_t{0}));
    a.copy(stage_at(stage), k);
    b.copy(stage_at(stage) + S::a_pieces, k);
    isa::copy_async_commit();
  };

  WarpTile<In, S> warp;
  std::int64_t rest = end_k - first_k;
  for (int stage = 0; stage + 1 < S::stages; ++stage) copy(stage, rest - stage * stage_k);
  start_kernel_after();
  for (int stage = 0; rest > 0; rest -= stage_k) {
    isa::copy_async_wait<S::stages - 2>();
    __syncthreads();  // everybody's copies are there, and everybody has read the stage that is filled next
    copy(stage == 0 ? S::stages - 1 : stage - 1, rest - (S::stages - 1) * stage_k);
    warp.template add<A, B>(stage_at(stage), stage_at(stage) + S::a_pieces);
    stage = stage + 1 == S::stages ? 0 : stage + 1;
  }
  isa::copy_async_wait<0>();
  __syncthreads();

  auto* const sums = reinterpret_cast<typename WarpTile<In, S>::Accumulator*>(pipeline);
  warp.collect(sums);
  if (w.ranks > 1) cluster_barrier();
  store_tile<S>(w, product_base(w.c, w.c_layout, product), sums, static_cast<int>(rank), i0, j0);
  if (w.ranks > 1) cluster_barrier();  // no block leaves while others read its sums
}

}  // namespace exactile::cuda::sm80
