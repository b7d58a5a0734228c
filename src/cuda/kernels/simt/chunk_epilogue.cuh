// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a thread's sums of a chunk of K to C: they are added to the running totals (see splitk_reduce.cuh), and after
/// the last chunk the totals are finished.
#pragma once

#include "cuda/kernels/simt/shape.cuh"

namespace exactile::cuda::simt {

/// A thread's part of a matrix of sums in memory.
template <class S>
struct Corner {
  using Accumulator = typename S::Accumulator;
  using StripA = Strip<Accumulator, S::tm, S::lm>;
  using StripB = Strip<Accumulator, S::tn, S::ln>;
  using Group = Pack<Accumulator, StripB::width>;
  /// Rows that are read before the first of them is written: so many that their latencies overlap.
  static constexpr int batch = S::tm * S::tn <= 32 ? S::tm : 32 / S::tn;

  AccumulatorMatrix<Accumulator> matrix;  ///< begins at the thread's first element
  std::int64_t rows;                      ///< from there to the end of C
  std::int64_t columns;
  bool wide;  ///< groups of neighbours can be accessed at once

  __device__ Corner(const AccumulatorMatrix<Accumulator>& whole, std::int64_t row, std::int64_t column,
                    const GemmDescription& d)
      : matrix{whole.data + row * whole.row_stride + column * whole.column_stride, whole.row_stride,
               whole.column_stride},
        rows(d.m - row),
        columns(d.n - column),
        wide(whole.column_stride == 1 && whole.row_stride % StripB::width == 0 &&
             reinterpret_cast<std::uintptr_t>(whole.data) % sizeof(Group) == 0) {}

  [[nodiscard]] __device__ Accumulator* row(int i) const { return matrix.data + StripA::place(i) * matrix.row_stride; }

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
          Accumulator& element = groups[i][j / StripB::width].at[j % StripB::width];
          element = update(first + i, j, element);
        }
        store(groups[i], first + i);
      }
    }
  }
};

/// Where a thread's elements begin in C.
struct ThreadPlace {
  std::int64_t row;
  std::int64_t column;
};

/// Adds the sums of a chunk to the totals.
template <class S>
__device__ inline void add_chunk(const typename S::Accumulator (&sums)[S::tm][S::tn],
                                 const Parameters<typename S::In, typename S::Out>& p, std::int64_t product,
                                 std::int64_t chunk, const ThreadPlace& at) {
  using Out = typename S::Out;
  using Accumulator = typename S::Accumulator;
  const GemmDescription& d = p.d;
  const Corner<S> totals(totals_of(p, product, chunk), at.row, at.column, d);
  if (p.division.split_k > 1) {
    totals.update(false, [&](int i, int j, Accumulator) { return sums[i][j]; });
  } else if (chunk > 0) {
    totals.update(true,
                  [&](int i, int j, Accumulator total) { return add_scaled(p.epilogue.alpha, sums[i][j], total); });
  } else if (std::is_same_v<Out, Accumulator> || !p.epilogue.reads_c) {
    totals.update(p.epilogue.reads_c,
                  [&](int i, int j, Accumulator before) { return first_total(p.epilogue, sums[i][j], before); });
  } else {
    // C is narrower than its sums: its old elements are not among the totals.
    const Out* const c = product_base(p.c, d.c, product);
    totals.update(false, [&](int i, int j, Accumulator) {
      const std::int64_t row = at.row + Corner<S>::StripA::place(i);
      const std::int64_t column = at.column + Corner<S>::StripB::place(j);
      const bool inside = row < d.m && column < d.n;
      const Accumulator before =
          inside ? p.epilogue.load_c(c + row * d.c.row_stride + column * d.c.column_stride) : Accumulator{};
      return first_total(p.epilogue, sums[i][j], before);
    });
  }
}

/// Bias, activation and rounding, where there is something to do: each thread reads the totals it has just written.
template <class S>
__device__ inline void finish(const Parameters<typename S::In, typename S::Out>& p, std::int64_t product,
                              const ThreadPlace& at) {
  using Out = typename S::Out;
  using Accumulator = typename S::Accumulator;
  if (p.division.split_k > 1 || (std::is_same_v<Out, Accumulator> && p.epilogue.ends_with_sum())) return;
  const GemmDescription& d = p.d;
  const AccumulatorMatrix<Accumulator> totals = totals_of(p, product, 0);
  Out* const c = product_base(p.c, d.c, product);
#pragma unroll 1
  for (int e = 0; e < S::tm * S::tn; ++e) {
    const std::int64_t i = at.row + Corner<S>::StripA::place(e / S::tn);
    const std::int64_t j = at.column + Corner<S>::StripB::place(e % S::tn);
    if (i >= d.m || j >= d.n) continue;
    const Accumulator total = totals.data[i * totals.row_stride + j * totals.column_stride];
    c[i * d.c.row_stride + j * d.c.column_stride] = narrow<Out>(p.epilogue.finish(total, i, j));
  }
}

}  // namespace exactile::cuda::simt
