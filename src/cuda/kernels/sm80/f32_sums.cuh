// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a warp of sm80_f32_fp16x3_mma sums, a chunk of K at a time: from slices in shared memory, by the tensor cores.
#pragma once

#include "cuda/kernels/sm80/f32_split.cuh"

namespace exactile::cuda::sm80 {

/// A block has WarpsM x WarpsN warps of 32 x WarpColumns elements of C.
template <int WarpsM, int WarpsN, int WarpColumns, int BlocksPerSm>
struct F32Shape {
  static constexpr int warps_n = WarpsN, warp_rows = 32, warp_columns = WarpColumns, blocks_per_sm = BlocksPerSm;
  static constexpr int bm = WarpsM * warp_rows, bn = WarpsN * warp_columns, vectors = bm + bn;
  static constexpr int threads = 32 * WarpsM * WarpsN;
  static_assert(threads / 32 * warp_vectors == vectors, "each warp splits as many vectors");
};

/// A warp's sums: 16 x 8 elements of C at a time, as isa::mma() has them.
template <class S>
struct WarpAccumulators {
  static constexpr int row_tiles = S::warp_rows / 16;
  static constexpr int column_tiles = S::warp_columns / 8;
  static constexpr int steps = chunk_k / 16;
  static constexpr int rows_at_once = column_tiles < 4 ? 2 : 1;  ///< row tiles: four sums or more in flight

  float at[row_tiles][column_tiles][4] = {};

  /// A thread's element (i, j, e) lies in that row and that column of the tile.
  [[nodiscard]] __device__ static int first_row() {
    return static_cast<int>(threadIdx.x) / 32 / S::warps_n * S::warp_rows;
  }
  [[nodiscard]] __device__ static int first_column() {
    return static_cast<int>(threadIdx.x) / 32 % S::warps_n * S::warp_columns;
  }
  [[nodiscard]] __device__ static int row(int i, int e) {
    return first_row() + 16 * i + e / 2 * 8 + static_cast<int>(threadIdx.x) % 32 / 4;
  }
  [[nodiscard]] __device__ static int column(int j, int e) {
    return first_column() + 8 * j + static_cast<int>(threadIdx.x) % 4 * 2 + e % 2;
  }

  /// Calls visitor(element, row, column, i, j, e) for each.
  template <class Visitor>
  __device__ void for_each(const Visitor& visitor) {
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
      for (int j = 0; j < column_tiles; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) visitor(at[i][j][e], row(i, e), column(j, e), i, j, e);
  }

  __device__ void shrink(const float (&by)[S::vectors]) {
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
      for (int j = 0; j < column_tiles; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) at[i][j][e] = at[i][j][e] * by[row(i, e)] * by[S::bm + column(j, e)];
  }

  /// Adds the sum of a chunk: small products first, from 0 and by the tensor cores.
  __device__ void add(SliceTile<S::vectors>& vectors) {
    using Tile = SliceTile<S::vectors>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int of_a = isa::opaque(Tile::place(first_row() + lane % 16, lane / 16, 0));
    const int of_b = isa::opaque(Tile::place(S::bm + first_column() + lane % 8 + lane / 16 * 8, lane / 8 % 2, 0));
    using OfA = std::uint32_t[rows_at_once][4];
    using OfB = std::uint32_t[column_tiles / 2][4];
    const auto load_a = [&](OfA& a, int first, int slice, int step) {
#pragma unroll
      for (int i = 0; i < rows_at_once; ++i)
        isa::load_matrices(a[i], vectors.data + (of_a ^ Tile::place(16 * (first + i), 2 * step, slice)));
    };
    const auto load_b = [&](OfB& b, int slice, int step) {
#pragma unroll
      for (int j = 0; j < column_tiles / 2; ++j)
        isa::load_matrices(b[j], vectors.data + (of_b ^ Tile::place(16 * j, 2 * step, slice)));
    };
    const auto multiply = [&](float(&sums)[rows_at_once][column_tiles][4], const OfA& a, const OfB& b) {
#pragma unroll
      for (int i = 0; i < rows_at_once; ++i)
#pragma unroll
        for (int j = 0; j < column_tiles; ++j) {
          const std::uint32_t right[2] = {b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]};
          isa::mma<__half>(sums[i][j], a[i], right);
        }
    };
    OfB high_b[steps];
#pragma unroll
    for (int first = 0; first < row_tiles; first += rows_at_once) {
      float sums[rows_at_once][column_tiles][4] = {};
      OfA high_a[steps];
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        OfA low_a;
        OfB low_b;
        if (first == 0) load_b(high_b[step], 0, step);
        load_a(low_a, first, 1, step);
        multiply(sums, low_a, high_b[step]);
        load_a(high_a[step], first, 0, step);
        load_b(low_b, 1, step);
        multiply(sums, high_a[step], low_b);
      }
#pragma unroll
      for (int step = 0; step < steps; ++step) multiply(sums, high_a[step], high_b[step]);
#pragma unroll
      for (int i = 0; i < rows_at_once; ++i)
#pragma unroll
        for (int j = 0; j < column_tiles; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e) at[first + i][j][e] += sums[i][j][e];
    }
  }

  /// Adds a chunk of f32, one k after the other.
  __device__ void add_plain(const float (&chunk)[chunk_k][S::vectors]) {
#pragma unroll 2
    for (int k = 0; k < chunk_k; ++k) {
      float y[column_tiles][2];
#pragma unroll
      for (int j = 0; j < column_tiles * 2; ++j) y[j / 2][j % 2] = chunk[k][S::bm + column(j / 2, j % 2)];
#pragma unroll
      for (int i = 0; i < row_tiles; ++i)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float x = chunk[k][row(i, 2 * r)];
#pragma unroll
          for (int j = 0; j < column_tiles; ++j)
#pragma unroll
            for (int e = 0; e < 2; ++e) at[i][j][2 * r + e] = fmaf(x, y[j][e], at[i][j][2 * r + e]);
        }
    }
  }
};

}  // namespace exactile::cuda::sm80
