// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel of the sm80 family: a block computes a tile of C from a pipeline of stages of 128 bytes of K that
/// cp.async fills. Operands may lie in either direction. Blocks of a cluster may divide K; so may warps of a
/// block.
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/isa/mma_m16n8.cuh"
#include "cuda/isa/opaque.cuh"
#include "cuda/runtime/clusters.hpp"
#include "cuda/tile/cluster_sums.cuh"
#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm80 {

constexpr int stage_bytes = 128;  ///< of K, for each row of A and column of B
constexpr int stage_steps = stage_bytes / 32;
constexpr int most_ranks = most_portable_cluster;  ///< blocks of a tile
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
  static constexpr int a_words = Rows > 64 ? Rows : 64, b_words = Columns > 64 ? Columns : 64;     ///< see Shifts
  static constexpr int stage_pieces = a_pieces + b_pieces + (a_words + b_words) / 4;
  static constexpr int line = Columns + 8;  ///< of sums in shared memory: rows two apart lie in other banks
  static constexpr int shared_bytes = 16 * Stages * stage_pieces;
  static_assert(4 * Rows * line <= shared_bytes);
};

/// Moved at once.
template <class T, int Count>
struct alignas(Count * sizeof(T)) Run {
  T at[Count];
};
template <class T>
using Four = Run<T, 4>;

/// Vectors: rows of A, or columns of B.
template <class In>
struct Vectors {
  const In* data;
  std::int64_t stride;  ///< from vector to vector; of those that lie across, from one k to the next
  std::int64_t batch_stride;
  std::int64_t count;
  int width;  ///< bytes, 16, 8, 4 or, of 16 bits, 2, that lie at multiples of themselves
};

template <class In>
struct Parameters {
  using Sum = DeviceAccumulator<In>;
  Vectors<In> a;
  Vectors<In> b;
  void* c;
  OperandLayout c_layout;
  std::int64_t k;
  std::int64_t slice_k;  ///< of each of a tile's blocks, whole stages
  int ranks;             ///< blocks of a tile
  bool stores_sums;      ///< C is of Sum; else of In
  Epilogue<In, Sum> of_sums;
  Epilogue<In, In> of_elements;
};

/// Lines of 16-bit elements that begin at any even address: words are copied from the multiple of 4 there or before it
/// on, so that a line's elements may lie one further, the last one in a word of its own beside the panel.
struct Shifts {
  bool any = false;
  int first = 0;  ///< of the panel's first line
  int step = 0;   ///< from line to line

  [[nodiscard]] __device__ int of(int line) const { return (first + line * step) & 1; }
};

/// An operand's part of a stage: lines of 16-byte pieces. A line is a vector, or, of vectors that lie Across, one k of
/// all. Sixteen lines are stored so that those that ldmatrix takes together follow one another, their pieces exchanged
/// so that the same piece of eight of them lies in all banks once.
template <bool Across, int Vectors, int ElementBytes>
struct Panel {
  static constexpr int per_line = (Across ? Vectors * ElementBytes : stage_bytes) / 16;
  static constexpr int lines = Across ? stage_bytes / ElementBytes : Vectors;

  [[nodiscard]] static __device__ int at(int slot, int piece) {
    constexpr int apart = per_line < 8 ? per_line : 8;  // pieces that lie in other banks
    return slot * per_line + (piece ^ slot / (8 / apart) % apart);
  }
  /// As they come; of 8 bits, even vectors before odd ones, and of k, those of bytes 0 and 1 of each four before those
  /// of bytes 2 and 3.
  [[nodiscard]] static __device__ int line_of(int slot) {
    if (ElementBytes > 1) return slot;
    const int group = slot & ~15, half = slot >> 3 & 1, within = slot & 7;
    return group + (Across ? (within >> 1) * 4 + half * 2 + (within & 1) : within * 2 + half);
  }

  /// Of 16 vectors and 32 bytes of K: the first eight's (of 8 bits, the even ones') first 16 bytes, the others', then
  /// the last 16.
  static __device__ void load(std::uint32_t (&to)[4], const uint4* panel, int vector, int step) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (Across && ElementBytes > 1) {
      isa::load_matrices_transposed(to, panel + at(16 * step + lane / 16 * 8 + lane % 8, vector / 8 + lane / 8 % 2));
    } else if constexpr (Across) {
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

  /// By all threads: moves the elements of shifted lines to where they belong.
  template <int Threads>
  static __device__ void align(uint4* panel, const std::uint32_t* last_words, const Shifts& shifts) {
    constexpr int own = lines * per_line / Threads;  // pieces of a thread
    const int thread = isa::opaque_thread();
    uint4 aligned[own];
#pragma unroll
    for (int i = 0; i < own; ++i) {
      const int line = (thread + i * Threads) / per_line, piece = (thread + i * Threads) % per_line;
      const uint4 x = panel[at(line, piece)];
      const std::uint32_t next = piece + 1 < per_line ? panel[at(line, piece + 1)].x : last_words[line];
      const int shift = 16 * shifts.of(line);
      aligned[i] = {__funnelshift_r(x.x, x.y, shift), __funnelshift_r(x.y, x.z, shift),
                    __funnelshift_r(x.z, x.w, shift), __funnelshift_r(x.w, next, shift)};
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < own; ++i)
      panel[at((thread + i * Threads) / per_line, (thread + i * Threads) % per_line)] = aligned[i];
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
        width_(v.width) {}

  [[nodiscard]] __device__ Shifts shifts() const {
    return {width_ == 2, static_cast<int>(reinterpret_cast<std::uintptr_t>(from_) / 2 % 2),
            static_cast<int>(line_bytes_ / 2 % 2)};
  }

  /// The next stage, of which so much of K is there; the rest, and vectors that are not there, become zeros.
  __device__ void copy(uint4* panel, std::uint32_t* last_words, int k) {
    if (width_ == 16)
      copy_lines<16>(panel, k);
    else if (width_ == 8)
      copy_lines<8>(panel, k);
    else
      copy_lines<4>(panel, k);
    if (const int line = isa::opaque_thread(); width_ == 2 && line < Panel::lines)
      copy_piece<4>(last_words + line, line, 16 * Panel::per_line - 2 * shifts().of(line), k);
    from_ += Across ? stage_bytes / size * line_bytes_ : stage_bytes;
  }

 private:
  static constexpr int size = sizeof(In);

  /// What is there of the Bytes of a line from `begin` on.
  template <int Bytes>
  __device__ void copy_piece(void* to, int line, int begin, int k) const {
    const int valid = max(min((Across ? count_ : k) * size - begin, Bytes), 0);
    isa::copy_async<Bytes>(to, from_ + line * line_bytes_ + begin, line < (Across ? k : count_) ? valid : 0);
  }

  template <int Bytes>
  __device__ void copy_lines(uint4* panel, int k) const {
    constexpr int in_line = 16 / Bytes * Panel::per_line, step = Threads / in_line;
    static_assert(Bytes > 4 || step % 2 == 0, "a thread's lines are all shifted or none");
    // Of narrow pieces there are more addresses than registers.
    const int thread = isa::opaque_thread();
    const int first = thread / in_line;
    const int byte = thread % in_line * Bytes;
    const int shift = size == 2 && Bytes == 4 && width_ == 2 ? 2 * shifts().of(first) : 0;
#pragma unroll(Bytes == 16 ? Panel::lines / step : 2)
    for (int i = 0; i < Panel::lines / step; ++i) {
      const int slot = first + i * step;
      const int line = step % 16 == 0 ? Panel::line_of(first) + i * step : Panel::line_of(slot);
      copy_piece<Bytes>(reinterpret_cast<char*>(panel + Panel::at(slot, byte / 16)) + byte % 16, line, byte - shift, k);
    }
  }

  const char* from_;  ///< the corner of the stage
  std::int64_t line_bytes_;
  int count_;  ///< vectors of the tile, if not more than a stage's lines
  int width_;
};

/// A warp's sums. Of 16 bits, lane l has l / 4 and the eighth from there of 16 rows, and two from 2 (l % 4) on of each
/// 8 columns. Of 8 bits, 2 (l / 4) and the next of 16 rows, and four from 4 (l % 4) on of 16 columns.
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
  static constexpr int run = sizeof(In) == 1 ? 4 : 2;  ///< neighbours of a lane

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
        for (int row = 0; row < 2; ++row)
#pragma unroll
          for (int part = 0; part < 4 / run; ++part) {
            const int line = first_row() + 16 * i + (run == 4 ? lane / 4 * 2 + row : lane / 4 + 8 * row);
            auto* const place = reinterpret_cast<Run<Accumulator, run>*>(tile + line * S::line + first_column() +
                                                                         16 * j + 8 * part + lane % 4 * run);
            Run<Accumulator, run> x = adds ? *place : Run<Accumulator, run>{};
#pragma unroll
            for (int e = 0; e < run; ++e) {
              const Accumulator(&sums)[4] = sums_[i][j][run == 4 ? e % 2 : part];
              x.at[e] = cuda::add(x.at[e], sums[2 * row + (run == 4 ? e / 2 : e)]);
            }
            *place = x;
          }
  }

  Accumulator sums_[row_tiles][column_pairs][2][4] = {};
};

/// Four neighbours of a row of C from the sums of all blocks of the tile.
template <class In, class Out, class Sum>
__device__ inline void store_four(const Parameters<In>& w, const Epilogue<In, Out>& epilogue, Out* c,
                                  const Four<Sum>& x, std::int64_t i, std::int64_t j) {
  Out* const to = c + i * w.c_layout.row_stride + j * w.c_layout.column_stride;
  if (epilogue.is_plain && w.c_layout.column_stride == 1 && j + 4 <= w.b.count &&
      reinterpret_cast<std::uintptr_t>(to) % sizeof(Four<Out>) == 0) {
    Four<Out> narrowed;
#pragma unroll
    for (int e = 0; e < 4; ++e) narrowed.at[e] = narrow<Out>(x.at[e]);
    *reinterpret_cast<Four<Out>*>(to) = narrowed;
    return;
  }
#pragma unroll
  for (int e = 0; e < 4; ++e)
    if (j + e < w.b.count) epilogue.store(to + e * w.c_layout.column_stride, x.at[e], i, j + e);
}

/// Of the tile whose first element is (i0, j0), this block's share.
template <class S, class In, class Out, class Sum>
__device__ inline void store_tile(const Parameters<In>& w, const Epilogue<In, Out>& epilogue, Out* c, const Sum* sums,
                                  int rank, std::int64_t i0, std::int64_t j0) {
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
    store_four(w, epilogue, c, of_rank[0], i0 + row, j0 + column);
  }
}

template <class In, class S, bool AAcross, bool BAcross>
__global__ void __launch_bounds__(S::threads, S::ctas) mma_kernel(const __grid_constant__ Parameters<In> w) {
  extern __shared__ __align__(128) uint4 pipeline[];
  using A = Panel<AAcross, S::rows, sizeof(In)>;
  using B = Panel<BAcross, S::columns, sizeof(In)>;
  const auto ranks = static_cast<unsigned>(w.ranks);
  const unsigned rank = blockIdx.x % ranks, block = blockIdx.x / ranks;
  const auto tiles_down = static_cast<unsigned>((w.a.count + S::rows - 1) / S::rows);
  const auto tiles_across = static_cast<unsigned>((w.b.count + S::columns - 1) / S::columns);
  const unsigned product = block / (tiles_down * tiles_across), tile = block % (tiles_down * tiles_across);
  const unsigned group = tile / (group_rows * tiles_across) * group_rows, in_group = tile % (group_rows * tiles_across);
  const unsigned rows_here = min(tiles_down - group, static_cast<unsigned>(group_rows));
  const std::int64_t i0 = std::int64_t{S::rows} * (group + in_group % rows_here);
  const std::int64_t j0 = std::int64_t{S::columns} * (in_group / rows_here);
  const std::int64_t first_k = rank * w.slice_k;
  const std::int64_t end_k = min(first_k + w.slice_k, w.k);

  start_kernel_after();
  Copier<In, A, AAcross, S::threads> a(w.a, product, i0, first_k);
  Copier<In, B, BAcross, S::threads> b(w.b, product, j0, first_k);
  constexpr int stage_k = stage_bytes / sizeof(In);
  const auto stage_at = [&](int stage) { return pipeline + stage * S::stage_pieces; };
  const auto copy = [&](int stage, std::int64_t rest) {
    const auto k = static_cast<int>(max(min(rest, std::int64_t{stage_k}), std::int64_t{0}));
    if (k > 0) {
      auto* const words = reinterpret_cast<std::uint32_t*>(stage_at(stage) + S::a_pieces + S::b_pieces);
      a.copy(stage_at(stage), words, k);
      b.copy(stage_at(stage) + S::a_pieces, words + S::a_words, k);
    }
    isa::copy_async_commit();
  };

  const Shifts a_shifts = a.shifts(), b_shifts = b.shifts();
  WarpTile<In, S> warp;
  std::int64_t rest = end_k - first_k;
  wait_for_kernel_before();
#pragma unroll 1
  for (int stage = 0; stage + 1 < S::stages; ++stage) copy(stage, rest - stage * stage_k);
  for (int stage = 0; rest > 0; rest -= stage_k) {
    isa::copy_async_wait<S::stages - 2>();
    __syncthreads();  // everybody's copies are there, and everybody has read the stage that is filled next
    copy(stage == 0 ? S::stages - 1 : stage - 1, rest - (S::stages - 1) * stage_k);
    uint4 *const a_panel = stage_at(stage), *const b_panel = a_panel + S::a_pieces;
    if (sizeof(In) > 1 && (a_shifts.any || b_shifts.any)) {
      const auto* const words = reinterpret_cast<const std::uint32_t*>(b_panel + S::b_pieces);
      if (a_shifts.any) A::template align<S::threads>(a_panel, words, a_shifts);
      if (b_shifts.any) B::template align<S::threads>(b_panel, words + S::a_words, b_shifts);
      __syncthreads();
    }
    warp.template add<A, B>(a_panel, b_panel);
    stage = stage + 1 == S::stages ? 0 : stage + 1;
  }
  isa::copy_async_wait<0>();
  __syncthreads();

  auto* const sums = reinterpret_cast<typename WarpTile<In, S>::Accumulator*>(pipeline);
  warp.collect(sums);
  if (w.ranks > 1) cluster_barrier();
  const auto store = [&]<class Out>(const Epilogue<In, Out>& epilogue) {
    Out* const c = product_base(static_cast<Out*>(w.c), w.c_layout, product);
    store_tile<S>(w, epilogue, c, sums, static_cast<int>(rank), i0, j0);
  };
  if (sizeof(In) == 1 || w.stores_sums)
    store(w.of_sums);
  else
    store(w.of_elements);
  if (w.ranks > 1) cluster_barrier();  // no block leaves while others read its sums
}

}  // namespace exactile::cuda::sm80
