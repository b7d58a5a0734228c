// SPDX-License-Identifier: Apache-2.0
/// \file
/// The SIMT engine's kernel: a thread block computes a tile of C, a thread a part of it in registers.
///
/// Panels of A and B go through a multistage pipeline in shared memory that is filled several panels ahead. A row of a
/// panel holds one k (of sum_k A[i][k] * B[k][j]) of all rows of the tile. Which elements a thread has: shape.cuh; what
/// becomes of their sums: chunk_epilogue.cuh.
#pragma once

#include "cuda/kernels/simt/chunk_epilogue.cuh"
#include "cuda/kernels/simt/panel_loader.cuh"

namespace exactile::cuda::simt {

template <class S, AccessPattern walk_a, AccessPattern walk_b>
struct Mainloop {
  using Accumulator = typename S::Accumulator;
  using LoaderA = PanelLoader<typename S::In, S::bm, S::bk, S::threads, walk_a>;
  using LoaderB = PanelLoader<typename S::In, S::bn, S::bk, S::threads, walk_b>;
  using StripA = Strip<Accumulator, S::tm, S::lm>;
  using StripB = Strip<Accumulator, S::tn, S::ln>;
  static constexpr int buffers =
      S::prefetch == 1 ? 2 : 4;  ///< operands of several k in registers, those not in use for free
  static_assert(S::prefetch < buffers && S::bk % buffers == 0);
  static constexpr bool is_async = copies_async<typename S::In>;
  static constexpr int slot_elements = LoaderA::elements + LoaderB::elements;
  static constexpr int shared_bytes = static_cast<int>(sizeof(Accumulator)) * S::stages * slot_elements;

  LoaderA a;
  LoaderB b;
  Accumulator* pipeline;
  int k_to_fetch;
  int slot = 0;                      ///< of the panel that is multiplied
  int row;                           ///< the thread's first row in the tile
  int column;                        ///< and column
  Accumulator left[buffers][S::tm];  ///< operands of this k and the next ones
  Accumulator right[buffers][S::tn];

  __device__ Mainloop(const Panels<typename S::In>& from_a, const Panels<typename S::In>& from_b, Accumulator* shared)
      : a(from_a, thread()), b(from_b, thread()), pipeline(shared), k_to_fetch(static_cast<int>(from_a.k)) {
    const int warp = thread() / 32, lane = thread() % 32;
    row = first_row<S>(warp, lane);
    column = first_column<S>(warp, lane);
#pragma unroll
    for (int stage = 0; stage < S::stages - 1; ++stage) {
      fetch(stage);
      deposit(stage);
    }
    await_panel();
  }

  /// Of those that share the pipeline: a block, or where S has one warp, that warp alone.
  [[nodiscard]] __device__ static unsigned thread() { return S::threads == 32 ? threadIdx.x % 32 : threadIdx.x; }

  /// Between chunks the operands give their registers to the totals.
  __device__ void begin_chunk() {
#pragma unroll
    for (int p = 0; p < S::prefetch; ++p) load(p, p);
  }

  __device__ Accumulator* panels(int at) const { return pipeline + at * slot_elements; }

  /// Waits until the next panel is there. All have then loaded the last k of the one before.
  __device__ void await_panel() const {
    if constexpr (is_async) isa::copy_async_wait<S::stages - 2>();
    if constexpr (S::threads == 32) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }

  __device__ void load(int buffer, int term) {
    StripB::load(right[buffer], panels(slot) + LoaderA::elements + term * LoaderB::pitch + column);
    StripA::load(left[buffer], panels(slot) + term * LoaderA::pitch + row);
  }

  __device__ void fetch(int to) {
    a.fetch(panels(to), k_to_fetch);
    b.fetch(panels(to) + LoaderA::elements, k_to_fetch);
    k_to_fetch -= S::bk;
    if constexpr (is_async) isa::copy_async_commit();
  }

  __device__ void deposit(int to) {
    a.deposit(panels(to));
    b.deposit(panels(to) + LoaderA::elements);
  }

  /// The panels that are fetched from now on lie that many of K further.
  __device__ void skip(int k) {
    a.skip(k);
    b.skip(k);
    k_to_fetch -= k;
  }

  /// Adds the next `count` panels to the sums. Operands are loaded ahead, also from one panel to the next.
  __device__ void accumulate(Accumulator (&sums)[S::tm][S::tn], int count) {
    for (; count > 0; --count) {
      const int free_slot = slot == 0 ? S::stages - 1 : slot - 1;
#pragma unroll
      for (int p = 0; p < S::bk; ++p) {
        if (p == S::bk - S::prefetch) {
          deposit(free_slot);
          await_panel();
          slot = slot == S::stages - 1 ? 0 : slot + 1;
        }
        load((p + S::prefetch) % buffers, (p + S::prefetch) % S::bk);
        multiply_k_step(sums, left[p % buffers], right[p % buffers]);
        if (p == 0) fetch(free_slot);
      }
    }
  }

  /// Adds the `count` panels of a chunk, piece by piece, to sums that are zero.
  __device__ void accumulate_chunk(Accumulator (&sums)[S::tm][S::tn], int count) {
    constexpr int of_piece = S::piece_k / S::bk;
    if constexpr (S::piece_k == chunk_k) {
      accumulate(sums, count);
    } else {
#pragma unroll 1
      for (; count > 0; count -= of_piece) {
        Accumulator piece[S::tm][S::tn] = {};
        accumulate(piece, min(count, of_piece));
#pragma unroll
        for (int i = 0; i < S::tm; ++i)
#pragma unroll
          for (int j = 0; j < S::tn; ++j) sums[i][j] = add(sums[i][j], piece[i][j]);
      }
    }
  }

  /// In a serpentine, so that each multiply-add has a factor in common with the one before: the register file delivers
  /// two new operands a cycle, one from the even and one from the odd registers. Compilers give x[i], y[j] and
  /// sums[i][j] registers of the parity of i, j and j; the order 1, 0, 3, 2, ... of the rows makes x[i] and sums[i][j]
  /// differ where the serpentine turns.
  __device__ static void multiply_k_step(Accumulator (&sums)[S::tm][S::tn], const Accumulator (&x)[S::tm],
                                         const Accumulator (&y)[S::tn]) {
#pragma unroll
    for (int line = 0; line < S::tm; ++line)
#pragma unroll
      for (int step = 0; step < S::tn; ++step) {
        const int i = S::tm % 2 == 0 ? line ^ 1 : line;
        const int j = line % 2 == 0 ? step : S::tn - 1 - step;
        sums[i][j] = multiply_add(x[i], y[j], sums[i][j]);
      }
  }
};

/// Rows that can be read: where they are read by vectors, memory has a whole number of them.
template <AccessPattern walk, class Accumulator>
__device__ inline std::int64_t whole(std::int64_t rows) {
  constexpr std::int64_t vector = walk == AccessPattern::mn_major_vectors ? 16 / sizeof(Accumulator) : 1;
  return (rows + vector - 1) / vector * vector;
}

template <class S, AccessPattern walk_a, AccessPattern walk_b>
[[nodiscard]] __device__ inline Mainloop<S, walk_a, walk_b> begin_mainloop(
    const Parameters<typename S::In, typename S::Out>& p, std::int64_t product, std::int64_t row, std::int64_t column,
    std::int64_t begin, std::int64_t end, typename S::Accumulator* shared) {
  using In = typename S::In;
  using Accumulator = typename S::Accumulator;
  const GemmDescription& d = p.d;
  const Panels<In> from_a{product_base(p.a, d.a, product) + row * d.a.row_stride + begin * d.a.column_stride,
                          d.a.row_stride, d.a.column_stride, whole<walk_a, Accumulator>(d.m - row), end - begin};
  const Panels<In> from_b{product_base(p.b, d.b, product) + column * d.b.column_stride + begin * d.b.row_stride,
                          d.b.column_stride, d.b.row_stride, whole<walk_b, Accumulator>(d.n - column), end - begin};
  return {from_a, from_b, shared};
}

/// A block for each work tile.
template <class S, AccessPattern walk_a, AccessPattern walk_b>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    tile_kernel(const __grid_constant__ Parameters<typename S::In, typename S::Out> p) {
  using Accumulator = typename S::Accumulator;
  extern __shared__ __align__(16) unsigned char shared[];
  const GemmDescription& d = p.d;
  const std::int64_t k_of_chunk = p.division.k_of_chunk;
  start_kernel_after();
  const WorkTile work_tile = work_tile_at(p.division, blockIdx.x, S::bm, S::bn);
  auto loop = begin_mainloop<S, walk_a, walk_b>(
      p, work_tile.product, work_tile.row, work_tile.column, work_tile.chunk_begin * k_of_chunk,
      min(work_tile.chunk_end * k_of_chunk, d.k), reinterpret_cast<Accumulator*>(shared));
  const ThreadPlace at{work_tile.row + loop.row, work_tile.column + loop.column};
  for (std::int64_t chunk = work_tile.chunk_begin; chunk < work_tile.chunk_end; ++chunk) {
    Accumulator sums[S::tm][S::tn] = {};
    const auto of_chunk = static_cast<int>(min(d.k - chunk * k_of_chunk, k_of_chunk));
    loop.begin_chunk();
    loop.accumulate_chunk(sums, (of_chunk + S::bk - 1) / S::bk);
    add_chunk<S>(sums, p, work_tile.product, chunk, at);
  }
  finish<S>(p, work_tile.product, at);
}

}  // namespace exactile::cuda::simt
