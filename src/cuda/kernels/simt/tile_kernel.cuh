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
/// and the block (BM / TM / LM) x (BN / TN / LN) warps. PieceTerms: see summation_order.hpp; a thread holds twice as
/// many sums where that is less than a chunk. Ahead: terms by which operands are loaded before they are multiplied.
template <class InT, class OutT, int Bm, int Bn, int Bk, int Tm, int Tn, int Lm, int Stages, int BlocksPerSm,
          bool Mixed = false, int PieceTerms = chunk_terms, int Ahead = 1>
struct Shape {
  using In = InT;
  using Out = OutT;
  using Sum = DeviceSum<In>;
  static constexpr int bm = Bm, bn = Bn, bk = Bk, tm = Tm, tn = Tn, lm = Lm, ln = 32 / Lm;
  static constexpr int stages = Stages, blocks_per_sm = BlocksPerSm;
  static constexpr int piece_terms = PieceTerms, ahead = Ahead;
  static constexpr int warps_m = bm / (tm * lm), warps_n = bn / (tn * ln);
  static constexpr int threads = 32 * warps_m * warps_n;
  static_assert(bm % (tm * lm) == 0 && bn % (tn * ln) == 0 && chunk_terms % bk == 0 && bk % 2 == 0);
  static_assert(piece_terms % bk == 0 && chunk_terms % piece_terms == 0);
  static_assert(!Mixed || (lm > 1 && ln > 1));

  /// Where a lane lies in the grid of its warp: row after row, or Mixed, so that bit 0 of a lane's number tells columns
  /// apart and bit 1 rows. Then a lane loads the same 16 bytes as the one beside it or the one two further, and shared
  /// memory answers two quarters of a warp at once. What waits for shared memory gains; large tiles wait for registers.
  __device__ static int row_lane(int lane) { return Mixed ? lane / 2 % 2 + lane / (2 * ln) * 2 : lane / ln; }
  __device__ static int column_lane(int lane) { return Mixed ? lane % 2 + lane / 4 % (ln / 2) * 2 : lane % ln; }
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

/// A thread's first row in the tile, and column.
template <class S>
[[nodiscard]] __device__ int first_row(int warp, int lane) {
  return Strip<typename S::Sum, S::tm, S::lm>::first(warp / S::warps_n, S::row_lane(lane));
}
template <class S>
[[nodiscard]] __device__ int first_column(int warp, int lane) {
  return Strip<typename S::Sum, S::tn, S::ln>::first(warp % S::warps_n, S::column_lane(lane));
}

template <class S, Walk walk_a, Walk walk_b>
struct Mainloop {
  using Sum = typename S::Sum;
  using LoaderA = PanelLoader<typename S::In, S::bm, S::bk, S::threads, walk_a>;
  using LoaderB = PanelLoader<typename S::In, S::bn, S::bk, S::threads, walk_b>;
  using StripA = Strip<Sum, S::tm, S::lm>;
  using StripB = Strip<Sum, S::tn, S::ln>;
  static constexpr int buffers = S::ahead == 1 ? 2 : 4;  ///< operands' terms in registers, those not in use for free
  static_assert(S::ahead < buffers && S::bk % buffers == 0);
  static constexpr bool is_async = copies_async<typename S::In>;
  static constexpr int slot_elements = LoaderA::elements + LoaderB::elements;
  static constexpr int shared_bytes = static_cast<int>(sizeof(Sum)) * S::stages * slot_elements;

  LoaderA a;
  LoaderB b;
  Sum* ring;
  int terms_to_fetch;
  int slot = 0;              ///< of the panel whose terms are multiplied
  int row;                   ///< the thread's first row in the tile
  int column;                ///< and column
  Sum left[buffers][S::tm];  ///< operands of this term and the next ones
  Sum right[buffers][S::tn];

  __device__ Mainloop(const Panels<typename S::In>& from_a, const Panels<typename S::In>& from_b, Sum* shared)
      : a(from_a, thread()), b(from_b, thread()), ring(shared), terms_to_fetch(static_cast<int>(from_a.terms)) {
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

  /// Of those that share the ring: a block, or where S has one warp, that warp alone.
  [[nodiscard]] __device__ static unsigned thread() { return S::threads == 32 ? threadIdx.x % 32 : threadIdx.x; }

  /// Between chunks the operands give their registers to the totals.
  __device__ void begin_chunk() {
#pragma unroll
    for (int p = 0; p < S::ahead; ++p) load(p, p);
  }

  __device__ Sum* panels(int at) const { return ring + at * slot_elements; }

  /// Waits until the next panel is there. All have then loaded the last term of the one before.
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
    a.fetch(panels(to), terms_to_fetch);
    b.fetch(panels(to) + LoaderA::elements, terms_to_fetch);
    terms_to_fetch -= S::bk;
    if constexpr (is_async) isa::copy_async_commit();
  }

  __device__ void deposit(int to) {
    a.deposit(panels(to));
    b.deposit(panels(to) + LoaderA::elements);
  }

  /// Adds the next `count` panels to the sums. Operands are loaded ahead, also from one panel to the next.
  __device__ void accumulate(Sum (&sums)[S::tm][S::tn], int count) {
    for (; count > 0; --count) {
      const int free_slot = slot == 0 ? S::stages - 1 : slot - 1;
#pragma unroll
      for (int p = 0; p < S::bk; ++p) {
        if (p == S::bk - S::ahead) {
          deposit(free_slot);
          await_panel();
          slot = slot == S::stages - 1 ? 0 : slot + 1;
        }
        load((p + S::ahead) % buffers, (p + S::ahead) % S::bk);
        multiply_term(sums, left[p % buffers], right[p % buffers]);
        if (p == 0) fetch(free_slot);
      }
    }
  }

  /// Adds the `count` panels of a chunk, piece by piece, to sums that are zero.
  __device__ void accumulate_chunk(Sum (&sums)[S::tm][S::tn], int count) {
    constexpr int of_piece = S::piece_terms / S::bk;
    if constexpr (S::piece_terms == chunk_terms) {
      accumulate(sums, count);
    } else {
#pragma unroll 1
      for (; count > 0; count -= of_piece) {
        Sum piece[S::tm][S::tn] = {};
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
  __device__ static void multiply_term(Sum (&sums)[S::tm][S::tn], const Sum (&x)[S::tm], const Sum (&y)[S::tn]) {
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

/// A thread's part of a matrix of sums in memory.
template <class S>
struct Corner {
  using Sum = typename S::Sum;
  using StripA = Strip<Sum, S::tm, S::lm>;
  using StripB = Strip<Sum, S::tn, S::ln>;
  using Group = Pack<Sum, StripB::width>;
  /// Rows that are read before the first of them is written: so many that their latencies overlap.
  static constexpr int batch = S::tm * S::tn <= 32 ? S::tm : 32 / S::tn;

  SumMatrix<Sum> matrix;  ///< begins at the thread's first element
  std::int64_t rows;      ///< from there to the end of C
  std::int64_t columns;
  bool wide;  ///< groups of neighbours can be accessed at once

  __device__ Corner(const SumMatrix<Sum>& whole, std::int64_t row, std::int64_t column, const GemmDescription& d)
      : matrix{whole.data + row * whole.row_stride + column * whole.column_stride, whole.row_stride,
               whole.column_stride},
        rows(d.m - row),
        columns(d.n - column),
        wide(whole.column_stride == 1 && whole.row_stride % StripB::width == 0 &&
             reinterpret_cast<std::uintptr_t>(whole.data) % sizeof(Group) == 0) {}

  [[nodiscard]] __device__ Sum* row(int i) const { return matrix.data + StripA::place(i) * matrix.row_stride; }

  __device__ void load(Group (&to)[StripB::groups], int i) const {
    if (StripA::place(i) >= rows) return;
#pragma unroll
    for (int g = 0; g < StripB::groups; ++g) {
      const int j = StripB::place(g * StripB::width);
      if (wide && j + StripB::width <= columns) {
        to[g] = *reinterpret_cast<const Group*>(row(i) + j);
      } else {
#pragma unroll
        for (int e = 0; e < StripB::width; ++e)
          if (j + e < columns) to[g].at[e] = row(i)[(j + e) * matrix.column_stride];
      }
    }
  }

  __device__ void store(const Group (&from)[StripB::groups], int i) const {
    if (StripA::place(i) >= rows) return;
#pragma unroll
    for (int g = 0; g < StripB::groups; ++g) {
      const int j = StripB::place(g * StripB::width);
      if (wide && j + StripB::width <= columns) {
        *reinterpret_cast<Group*>(row(i) + j) = from[g];
      } else {
#pragma unroll
        for (int e = 0; e < StripB::width; ++e)
          if (j + e < columns) row(i)[(j + e) * matrix.column_stride] = from[g].at[e];
      }
    }
  }

  /// Replaces each element by update(i, j, element); elements are not read where `reads` is false.
  template <class Update>
  __device__ void update(bool reads, Update&& update) const {
#pragma unroll
    for (int first = 0; first < S::tm; first += batch) {
      Group groups[batch][StripB::groups] = {};
      if (reads)
#pragma unroll
        for (int i = 0; i < batch; ++i) load(groups[i], first + i);
#pragma unroll
      for (int i = 0; i < batch; ++i) {
#pragma unroll
        for (int j = 0; j < S::tn; ++j) {
          Sum& element = groups[i][j / StripB::width].at[j % StripB::width];
          element = update(first + i, j, element);
        }
        store(groups[i], first + i);
      }
    }
  }
};

/// Rows that can be read: where they are read by vectors, memory has a whole number of them.
template <Walk walk, class Sum>
__device__ inline std::int64_t whole(std::int64_t rows) {
  constexpr std::int64_t vector = walk == Walk::vectors ? 16 / sizeof(Sum) : 1;
  return (rows + vector - 1) / vector * vector;
}

/// Where a thread's elements begin in C.
struct ThreadPlace {
  std::int64_t row;
  std::int64_t column;
};

/// Adds the sums of a chunk to the totals.
template <class S>
__device__ inline void add_chunk(const typename S::Sum (&sums)[S::tm][S::tn],
                                 const Work<typename S::In, typename S::Out>& work, std::int64_t product,
                                 std::int64_t chunk, const ThreadPlace& at) {
  using Out = typename S::Out;
  using Sum = typename S::Sum;
  const GemmDescription& d = work.d;
  const Corner<S> totals(totals_of(work, product, chunk), at.row, at.column, d);
  if (work.division.splits > 1) {
    totals.update(false, [&](int i, int j, Sum) { return sums[i][j]; });
  } else if (chunk > 0) {
    totals.update(true, [&](int i, int j, Sum total) { return multiply_add(work.epilogue.alpha, sums[i][j], total); });
  } else if (std::is_same_v<Out, Sum> || !work.epilogue.reads_c) {
    totals.update(work.epilogue.reads_c,
                  [&](int i, int j, Sum before) { return first_total(work.epilogue, sums[i][j], before); });
  } else {
    // C is narrower than its sums: its old elements are not among the totals.
    const Out* const c = product_base(work.c, d.c, product);
    totals.update(false, [&](int i, int j, Sum) {
      const std::int64_t row = at.row + Corner<S>::StripA::place(i);
      const std::int64_t column = at.column + Corner<S>::StripB::place(j);
      const bool inside = row < d.m && column < d.n;
      const Sum before = inside ? work.epilogue.load_c(c + row * d.c.row_stride + column * d.c.column_stride) : Sum{};
      return first_total(work.epilogue, sums[i][j], before);
    });
  }
}

/// Bias, activation and rounding, where there is something to do: each thread reads the totals it has just written.
template <class S>
__device__ inline void finish(const Work<typename S::In, typename S::Out>& work, std::int64_t product,
                              const ThreadPlace& at) {
  using Out = typename S::Out;
  using Sum = typename S::Sum;
  if (work.division.splits > 1 || (std::is_same_v<Out, Sum> && work.epilogue.ends_with_sum())) return;
  const GemmDescription& d = work.d;
  const SumMatrix<Sum> totals = totals_of(work, product, 0);
  Out* const c = product_base(work.c, d.c, product);
#pragma unroll 1
  for (int e = 0; e < S::tm * S::tn; ++e) {
    const std::int64_t i = at.row + Corner<S>::StripA::place(e / S::tn);
    const std::int64_t j = at.column + Corner<S>::StripB::place(e % S::tn);
    if (i >= d.m || j >= d.n) continue;
    const Sum total = totals.data[i * totals.row_stride + j * totals.column_stride];
    c[i * d.c.row_stride + j * d.c.column_stride] = narrow<Out>(work.epilogue.finish(total, i, j));
  }
}

template <class S, Walk walk_a, Walk walk_b>
[[nodiscard]] __device__ inline Mainloop<S, walk_a, walk_b> begin_terms(
    const Work<typename S::In, typename S::Out>& work, std::int64_t product, std::int64_t row, std::int64_t column,
    std::int64_t begin, std::int64_t end, typename S::Sum* shared) {
  using In = typename S::In;
  using Sum = typename S::Sum;
  const GemmDescription& d = work.d;
  const Panels<In> from_a{product_base(work.a, d.a, product) + row * d.a.row_stride + begin * d.a.column_stride,
                          d.a.row_stride, d.a.column_stride, whole<walk_a, Sum>(d.m - row), end - begin};
  const Panels<In> from_b{product_base(work.b, d.b, product) + column * d.b.column_stride + begin * d.b.row_stride,
                          d.b.column_stride, d.b.row_stride, whole<walk_b, Sum>(d.n - column), end - begin};
  return {from_a, from_b, shared};
}

/// A block for each unit.
template <class S, Walk walk_a, Walk walk_b>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    tile_kernel(const __grid_constant__ Work<typename S::In, typename S::Out> work) {
  using Sum = typename S::Sum;
  extern __shared__ __align__(16) unsigned char shared[];
  const GemmDescription& d = work.d;
  const Unit unit = unit_of(work.division, blockIdx.x, S::bm, S::bn);
  auto loop = begin_terms<S, walk_a, walk_b>(work, unit.product, unit.row, unit.column, unit.chunk_begin * chunk_terms,
                                             min(unit.chunk_end * chunk_terms, d.k), reinterpret_cast<Sum*>(shared));
  const ThreadPlace at{unit.row + loop.row, unit.column + loop.column};
  for (std::int64_t chunk = unit.chunk_begin; chunk < unit.chunk_end; ++chunk) {
    Sum sums[S::tm][S::tn] = {};
    const std::int64_t left = d.k - chunk * chunk_terms;
    loop.begin_chunk();
    loop.accumulate_chunk(sums,
                          left < chunk_terms ? (static_cast<int>(left) + S::bk - 1) / S::bk : chunk_terms / S::bk);
    add_chunk<S>(sums, work, unit.product, chunk, at);
  }
  finish<S>(work, unit.product, at);
}

}  // namespace exactile::cuda::simt
