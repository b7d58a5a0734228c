// SPDX-License-Identifier: Apache-2.0
/// \file
/// The SIMT engine's kernel: a thread block computes a tile of C, a thread a part of it in registers.
///
/// Panels of A and B go through a ring of shared memory that is filled several panels ahead. A row of a panel holds one
/// term (one p of sum_p A[i][p] * B[p][j]) of all rows of the tile. A warp's lanes form a lanes_m x lanes_n grid; each
/// lane owns groups of neighbours that fill 16 bytes, so that it reads its operands with the widest loads and lanes of
/// one row of the grid read the same address.
#pragma once

#include "cuda/kernels/simt/fold.cuh"
#include "cuda/kernels/simt/panel_loader.cuh"

namespace exactile::cuda::simt {

/// BM x BN x BK: tile of C and terms of a panel. A thread computes TM x TN elements, a warp has LM x (32 / LM) lanes
/// and the block (BM / TM / LM) x (BN / TN / LN) warps.
template <class InT, class OutT, int Bm, int Bn, int Bk, int Tm, int Tn, int Lm, int Stages, int BlocksPerSm>
struct Shape {
  using In = InT;
  using Out = OutT;
  using Sum = DeviceSum<In>;
  static constexpr int bm = Bm, bn = Bn, bk = Bk, tm = Tm, tn = Tn, lm = Lm, ln = 32 / Lm;
  static constexpr int stages = Stages, blocks_per_sm = BlocksPerSm;
  static constexpr int warps_m = bm / (tm * lm), warps_n = bn / (tn * ln);
  static constexpr int threads = 32 * warps_m * warps_n;
  static_assert(bm % (tm * lm) == 0 && bn % (tn * ln) == 0 && chunk_terms % bk == 0 && bk % 2 == 0);
};

/// The elements of a panel that a thread multiplies: Count of Extent, in groups of neighbours that lie Lanes groups
/// apart.
template <class Sum, int Count, int Lanes>
struct Strip {
  static constexpr int width = Count < 16 / static_cast<int>(sizeof(Sum)) ? Count : 16 / static_cast<int>(sizeof(Sum));
  static constexpr int groups = Count / width;
  static_assert(Count % width == 0);
  /// Place of element e, counted from the thread's first element.
  __host__ __device__ static constexpr int place(int e) { return e / width * (Lanes * width) + e % width; }
  /// Place of the thread's first element in the tile.
  __device__ static int first(int warp, int lane) { return warp * (Lanes * Count) + lane * width; }

  __device__ static void load(Sum (&to)[Count], const Sum* from) {
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      const auto pack = *reinterpret_cast<const Pack<Sum, width>*>(from + g * Lanes * width);
#pragma unroll
      for (int e = 0; e < width; ++e) to[g * width + e] = pack.at[e];
    }
  }
};

template <class S, Walk walk_a, Walk walk_b>
struct Mainloop {
  using Sum = typename S::Sum;
  using LoaderA = PanelLoader<typename S::In, S::bm, S::bk, S::threads, walk_a>;
  using LoaderB = PanelLoader<typename S::In, S::bn, S::bk, S::threads, walk_b>;
  using StripA = Strip<Sum, S::tm, S::lm>;
  using StripB = Strip<Sum, S::tn, S::ln>;
  static constexpr bool is_async = copies_async<typename S::In>;
  static constexpr int slot_elements = LoaderA::elements + LoaderB::elements;
  static constexpr int shared_bytes = static_cast<int>(sizeof(Sum)) * S::stages * slot_elements;

  LoaderA a;
  LoaderB b;
  Sum* ring;
  std::int64_t panels_to_fetch;
  int slot = 0;        ///< of the panel whose terms are multiplied
  int row;             ///< the thread's first row in the tile
  int column;          ///< and column
  Sum left[2][S::tm];  ///< operands of this term and the next one
  Sum right[2][S::tn];

  __device__ Mainloop(const Panels<typename S::In>& from_a, const Panels<typename S::In>& from_b, Sum* shared)
      : a(from_a, threadIdx.x),
        b(from_b, threadIdx.x),
        ring(shared),
        panels_to_fetch((from_a.terms + S::bk - 1) / S::bk) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    row = StripA::first(warp / S::warps_n, lane / S::ln);
    column = StripB::first(warp % S::warps_n, lane % S::ln);
#pragma unroll
    for (int stage = 0; stage < S::stages; ++stage) {
      fetch(stage);
      deposit(stage);
    }
    await_panel<S::stages - 1>();
    load(0, 0, 0);
  }

  __device__ Sum* panels(int at) const { return ring + at * slot_elements; }

  /// Waits until at most Pending of the panels under way are not there.
  template <int Pending>
  __device__ void await_panel() const {
    if constexpr (is_async) isa::copy_async_wait<Pending>();
    __syncthreads();
  }

  __device__ void load(int buffer, int at, int term) {
    StripA::load(left[buffer], panels(at) + term * LoaderA::pitch + row);
    StripB::load(right[buffer], panels(at) + LoaderA::elements + term * LoaderB::pitch + column);
  }

  __device__ void fetch(int to) {
    if (panels_to_fetch > 0) {
      a.fetch(panels(to));
      b.fetch(panels(to) + LoaderA::elements);
    }
    if constexpr (is_async) isa::copy_async_commit();
  }

  __device__ void deposit(int to) {
    if (panels_to_fetch > 0) {
      a.deposit(panels(to));
      b.deposit(panels(to) + LoaderA::elements);
    }
    --panels_to_fetch;
  }

  /// Adds the next `count` panels to the sums. Operands are loaded a term ahead, also from one panel to the next: all
  /// have then read the last term of the panel, so that its place can take the panel that is `stages` further on.
  __device__ void accumulate(Sum (&sums)[S::tm][S::tn], int count) {
    for (; count > 0; --count) {
      const int next = slot == S::stages - 1 ? 0 : slot + 1;
      if constexpr (!is_async) fetch(slot);
#pragma unroll
      for (int p = 0; p < S::bk; ++p) {
        if (p + 1 < S::bk) {
          load((p + 1) % 2, slot, p + 1);
        } else {
          await_panel<S::stages - 2>();
          load((p + 1) % 2, next, 0);
          if constexpr (is_async) fetch(slot);
          deposit(slot);
        }
        multiply_term(sums, left[p % 2], right[p % 2]);
      }
      slot = next;
    }
  }

  /// In a serpentine, so that each multiply-add has a factor in common with the one before: the register file cannot
  /// deliver three new operands a cycle.
  __device__ static void multiply_term(Sum (&sums)[S::tm][S::tn], const Sum (&x)[S::tm], const Sum (&y)[S::tn]) {
#pragma unroll
    for (int i = 0; i < S::tm; ++i)
#pragma unroll
      for (int step = 0; step < S::tn; ++step) {
        const int j = i % 2 == 0 ? step : S::tn - 1 - step;
        sums[i][j] = multiply_add(x[i], y[j], sums[i][j]);
      }
  }
};

/// A thread's part of the tile, in memory.
template <class S>
struct Corner {
  using Sum = typename S::Sum;
  using StripA = Strip<Sum, S::tm, S::lm>;
  using StripB = Strip<Sum, S::tn, S::ln>;
  std::int64_t row, column;    ///< of the thread's first element, in C
  std::int64_t rows, columns;  ///< of C

  /// Calls visit(i, j, first element's address, how many of the group lie in C, whether they can be accessed at once)
  /// for each group of neighbours of a row.
  template <class Visit>
  __device__ void for_each_group(const SumMatrix<Sum>& matrix, Visit&& visit) const {
    const bool wide = matrix.column_stride == 1 && matrix.row_stride % StripB::width == 0 &&
                      reinterpret_cast<std::uintptr_t>(matrix.data) % (sizeof(Sum) * StripB::width) == 0;
#pragma unroll
    for (int i = 0; i < S::tm; ++i) {
      const std::int64_t at_row = row + StripA::place(i);
      if (at_row >= rows) continue;
      Sum* const begin = matrix.data + at_row * matrix.row_stride;
#pragma unroll
      for (int g = 0; g < StripB::groups; ++g) {
        const std::int64_t at_column = column + StripB::place(g * StripB::width);
        const std::int64_t left = columns - at_column;
        if (left <= 0) continue;
        visit(i, g * StripB::width, begin + at_column * matrix.column_stride,
              left < StripB::width ? static_cast<int>(left) : StripB::width, wide);
      }
    }
  }
};

template <class S, Walk walk_a, Walk walk_b>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    tile_kernel(const __grid_constant__ Work<typename S::In, typename S::Out> work) {
  using In = typename S::In;
  using Out = typename S::Out;
  using Sum = typename S::Sum;
  using Loop = Mainloop<S, walk_a, walk_b>;
  constexpr int width = Corner<S>::StripB::width;
  extern __shared__ __align__(16) unsigned char shared[];

  const GemmDescription& d = work.d;
  const Unit unit = unit_of(work.division, blockIdx.x, S::bm, S::bn);
  const std::int64_t term = unit.chunk_begin * chunk_terms;
  const std::int64_t terms = min(unit.chunk_end * chunk_terms, d.k) - term;
  const Panels<In> from_a{
      product_base(work.a, d.a, unit.product) + unit.row * d.a.row_stride + term * d.a.column_stride, d.a.row_stride,
      d.a.column_stride, d.m - unit.row, terms};
  const Panels<In> from_b{
      product_base(work.b, d.b, unit.product) + unit.column * d.b.column_stride + term * d.b.row_stride,
      d.b.column_stride, d.b.row_stride, d.n - unit.column, terms};
  Loop loop(from_a, from_b, reinterpret_cast<Sum*>(shared));
  const Corner<S> corner{unit.row + loop.row, unit.column + loop.column, d.m, d.n};
  const std::int64_t column_stride = d.c.column_stride;

  for (std::int64_t chunk = unit.chunk_begin; chunk < unit.chunk_end; ++chunk) {
    Sum sums[S::tm][S::tn] = {};
    const std::int64_t left = d.k - chunk * chunk_terms;
    loop.accumulate(sums, left < chunk_terms ? (static_cast<int>(left) + S::bk - 1) / S::bk : chunk_terms / S::bk);

    const SumMatrix<Sum> totals = totals_of(work, unit.product, chunk);
    const bool apart = work.division.splits > 1;
    const bool reads = !apart && (chunk > 0 || work.epilogue.reads_c);
    corner.for_each_group(totals, [&](int i, int j, Sum* place, int count, bool wide) {
      Pack<Sum, width> x{};
      // Where C is narrower than its sums, its old elements are not among the totals.
      if (reads && (chunk > 0 || std::is_same_v<Out, Sum>)) {
        if (wide && count == width) {
          x = *reinterpret_cast<Pack<Sum, width>*>(place);
        } else {
#pragma unroll
          for (int e = 0; e < width; ++e)
            if (e < count) x.at[e] = place[e * totals.column_stride];
        }
      } else if (reads) {
        const Out* c = product_base(work.c, d.c, unit.product) +
                       (corner.row + Corner<S>::StripA::place(i)) * d.c.row_stride +
                       (corner.column + Corner<S>::StripB::place(j)) * column_stride;
#pragma unroll
        for (int e = 0; e < width; ++e)
          if (e < count) x.at[e] = work.epilogue.load_c(c + e * column_stride);
      }
#pragma unroll
      for (int e = 0; e < width; ++e)
        x.at[e] = apart ? sums[i][j + e] : fold(work.epilogue, chunk == 0, sums[i][j + e], x.at[e]);
      if (wide && count == width) {
        *reinterpret_cast<Pack<Sum, width>*>(place) = x;
      } else {
#pragma unroll
        for (int e = 0; e < width; ++e)
          if (e < count) place[e * totals.column_stride] = x.at[e];
      }
    });
  }

  // Bias, activation and rounding, where there is something to do: each thread reads the totals it has just written.
  if (work.division.splits > 1 || (std::is_same_v<Out, Sum> && work.epilogue.ends_with_sum())) return;
  const SumMatrix<Sum> totals = totals_of(work, unit.product, 0);
  Out* const c = product_base(work.c, d.c, unit.product);
#pragma unroll 1
  for (int e = 0; e < S::tm * S::tn; ++e) {
    const std::int64_t i = corner.row + Corner<S>::StripA::place(e / S::tn);
    const std::int64_t j = corner.column + Corner<S>::StripB::place(e % S::tn);
    if (i >= d.m || j >= d.n) continue;
    const Sum total = totals.data[i * totals.row_stride + j * totals.column_stride];
    c[i * d.c.row_stride + j * column_stride] = narrow<Out>(work.epilogue.finish(total, i, j));
  }
}

}  // namespace exactile::cuda::simt
