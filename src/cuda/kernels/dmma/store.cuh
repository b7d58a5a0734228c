// SPDX-License-Identifier: Apache-2.0
/// \file
/// From the sums of a warp's tile to C or to the partial sums.
#pragma once

#include "cuda/isa/reduce.cuh"
#include "cuda/kernels/dmma/fragments.cuh"

namespace exactile::cuda::dmma {

/// Stores raw sums of one chunk: column after column, an even number of rows each.
template <class Tile>
__device__ void store_partial(const Tile& tile, const Parameters& w, const WorkTile& work_tile, std::uint32_t chunk) {
  double* to = w.partials + (work_tile.product * w.chunks + chunk) * w.partial_rows * w.n;
  to += work_tile.column * w.partial_rows + work_tile.row;
  const std::int64_t rows = w.m - work_tile.row;
  const std::int64_t columns = w.n - work_tile.column;
#pragma unroll
  for (int i = 0; i < Tile::a_parts; ++i)
#pragma unroll
    for (int j = 0; j < Tile::places; ++j)
      if (tile.row(i) < rows && tile.column(j) < columns)
        *reinterpret_cast<double2*>(to + tile.column(j) * w.partial_rows + tile.row(i)) = tile.sums(i, j);
}

/// The part of C that a tile covers.
class TileOfC {
 public:
  __device__ TileOfC(const Parameters& w, const WorkTile& work_tile)
      : row_stride_(w.c_layout.row_stride),
        column_stride_(w.c_layout.column_stride),
        c_(product_base(w.c, w.c_layout, work_tile.product) + work_tile.row * row_stride_ +
           work_tile.column * column_stride_),
        rows_(static_cast<int>(min(w.m - work_tile.row, std::int64_t{1} << 20))),
        columns_(static_cast<int>(min(w.n - work_tile.column, std::int64_t{1} << 20))),
        paired_(row_stride_ == 1 && column_stride_ % 2 == 0 && reinterpret_cast<std::uintptr_t>(c_) % 16 == 0) {}

  /// Two elements, one below the other; what lies outside C is 0.
  [[nodiscard]] __device__ double2 load(int row, int column) const {
    double2 x{};
    if (column >= columns_ || row >= rows_) return x;
    const double* from = c_ + row * row_stride_ + column * column_stride_;
    if (paired_ && row + 1 < rows_) return __ldcg(reinterpret_cast<const double2*>(from));
    x.x = __ldcg(from);
    if (row + 1 < rows_) x.y = __ldcg(from + row_stride_);
    return x;
  }
  __device__ void store(int row, int column, double2 x) const {
    if (column >= columns_ || row >= rows_) return;
    double* to = c_ + row * row_stride_ + column * column_stride_;
    if (paired_ && row + 1 < rows_) {
      *reinterpret_cast<double2*>(to) = x;
    } else {
      to[0] = x.x;
      if (row + 1 < rows_) to[row_stride_] = x.y;
    }
  }

  /// Adds in L2, which nobody waits for.
  __device__ void add(int row, int column, double x) const {
    if (column < columns_ && row < rows_) isa::reduce_add(c_ + row * row_stride_ + column * column_stride_, x);
  }

 private:
  std::int64_t row_stride_;
  std::int64_t column_stride_;
  double* c_;
  int rows_;
  int columns_;
  bool paired_;
};

/// What epilogue.finish() does but for GELU, whose error function would be inlined once for every sum of a thread.
[[nodiscard]] __device__ inline double finish_without_gelu(const Epilogue<double, double>& e, double x, std::int64_t i,
                                                           std::int64_t j) {
  if (e.bias_kind != Bias::none) x += e.bias[e.bias_kind == Bias::per_row ? i : j];
  return e.activation == Activation::relu && x < 0 ? 0 : x;
}

/// GELU of what this thread has stored.
template <class Tile>
__device__ void gelu_of_stored(const Tile& tile, const TileOfC& c, Epilogue<double, double> e) {
  e.bias_kind = Bias::none;
#pragma unroll 1
  for (int p = 0; p < Tile::a_parts * Tile::places; ++p) {
    const int row = tile.row(p / Tile::places);
    const int column = tile.column(p % Tile::places);
    const double2 x = c.load(row, column);
    c.store(row, column, make_double2(e.finish(x.x, 0, 0), e.finish(x.y, 0, 0)));
  }
}

/// Adds alpha times the sums of a chunk to C. Threads of neighbouring columns exchange sums first, so that a warp adds
/// to whole sectors of L2 where C lies by columns: half as many as with two rows of a column for each thread.
template <class Tile>
__device__ void add_to_c(const Tile& tile, const TileOfC& c, double alpha) {
  const int odd = threadIdx.x % 2;
  __syncwarp();  // what the neighbour stored of earlier chunks comes before what this thread adds
#pragma unroll
  for (int i = 0; i < Tile::a_parts; ++i)
#pragma unroll
    for (int j = 0; j < Tile::places; ++j) {
      const double2 sums = tile.sums(i, j);
      const double2 x = make_double2(alpha * sums.x, alpha * sums.y);
      const double other = __shfl_xor_sync(0xffffffff, odd ? x.x : x.y, 1);
      const int row = tile.row(i) + odd;
      const int column = tile.column(j) - odd;
      c.add(row, column, odd ? other : x.x);
      c.add(row, column + 1, odd ? x.y : other);
    }
  __syncwarp();
}

/// Folds the sums of a chunk into C and, if it is the last one, finishes C.
template <class Tile>
__device__ void accumulate_into_c(const Tile& tile, const Parameters& w, const WorkTile& work_tile,
                                  std::uint32_t chunk) {
  const Epilogue<double, double>& e = w.epilogue;
  const bool first = chunk == 0;
  const bool ends = chunk + 1 == w.chunks && !e.ends_with_sum();
  const TileOfC c(w, work_tile);
  if (first && e.alpha == 1 && !e.reads_c && !ends) {
#pragma unroll
    for (int i = 0; i < Tile::a_parts; ++i)
#pragma unroll
      for (int j = 0; j < Tile::places; ++j) c.store(tile.row(i), tile.column(j), tile.sums(i, j));
    return;
  }
  if (!first && !ends) {
    add_to_c(tile, c, e.alpha);
    return;
  }
#pragma unroll
  for (int i = 0; i < Tile::a_parts; ++i) {
    double2 before[Tile::places] = {};
    if (!first || e.reads_c) {
#pragma unroll
      for (int j = 0; j < Tile::places; ++j) before[j] = c.load(tile.row(i), tile.column(j));
    }
#pragma unroll
    for (int j = 0; j < Tile::places; ++j) {
      const double2 sums = tile.sums(i, j);
      double2 x = make_double2(accumulate_chunk(e, first, sums.x, before[j].x),
                               accumulate_chunk(e, first, sums.y, before[j].y));
      if (ends) {  // the bias is read for rows and columns of C alone
        const std::int64_t row = min(work_tile.row + tile.row(i), w.m - 1);
        const std::int64_t column = min(work_tile.column + tile.column(j), w.n - 1);
        x = make_double2(finish_without_gelu(e, x.x, row, column),
                         finish_without_gelu(e, x.y, min(row + 1, w.m - 1), column));
      }
      c.store(tile.row(i), tile.column(j), x);
    }
  }
  if (ends && e.activation == Activation::gelu) gelu_of_stored(tile, c, e);
}

/// Where the sums of a finished chunk go.
template <class Tile>
__device__ void store_chunk(const Tile& tile, const Parameters& w, const WorkTile& work_tile, std::uint32_t chunk) {
  if (w.partials != nullptr) {
    store_partial(tile, w, work_tile, chunk);
  } else {
    accumulate_into_c(tile, w, work_tile, chunk);
  }
}

}  // namespace exactile::cuda::dmma
