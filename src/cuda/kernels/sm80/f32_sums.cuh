// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a warp of sm80_f32_bf16x6_mma sums, a panel of K at a time.
#pragma once

#include "cuda/kernels/sm80/f32_panels.cuh"

namespace exactile::cuda::sm80::f32 {

/// Of C, for a block of 2 x 2 warps.
inline constexpr int tile = 64, warp_tile = 32, threads = 128;

/// Powers of two, of elements that slices hold, and of those whose products of slices do not underflow.
inline constexpr int least_of_slices = -100, least_of_products = -50;

/// Whether slices may have missed the promise: for a sum that is not finite, or where `least`, the least magnitude of
/// its row and its column, is so small that slices or products of them may not be held.
[[nodiscard]] __device__ inline bool is_doubtful(float sum, std::uint32_t least) {
  const float size = fabsf(sum);
  return !(size < __builtin_inff()) || least < magnitude_of_power(least_of_slices) ||
         (least < magnitude_of_power(least_of_products) && size < 0x1p-90f);
}

/// A thread's sums by f32, and the least magnitudes of its rows and columns.
struct PlainSums {
  float at[warp_tile / 16][warp_tile / 8][4] = {};
  std::uint32_t of_rows[warp_tile / 8];
  std::uint32_t of_columns[warp_tile / 4];

  __device__ PlainSums() {
    for (std::uint32_t& least : of_rows) least = ~0u;
    for (std::uint32_t& least : of_columns) least = ~0u;
  }
};

/// A warp's sums: 16 x 8 elements of C at a time, as isa::mma() has them. Lane 4 g + t has terms 4 t to 4 t + 3 of
/// a chunk, whatever the mma calls them.
template <bool a_k_major, bool b_k_major>
struct WarpSums {
  using PanelA = Panel<tile, a_k_major>;
  using PanelB = Panel<tile, b_k_major>;
  static constexpr int row_tiles = warp_tile / 16;
  static constexpr int column_tiles = warp_tile / 8;

  float at[row_tiles][column_tiles][4] = {};
  std::uint32_t least = ~0u;  ///< the least magnitude of elements that are not zero

  [[nodiscard]] __device__ static int first_row() {
    return static_cast<int>(threadIdx.x) / 64 * warp_tile + static_cast<int>(threadIdx.x) % 32 / 4;
  }
  [[nodiscard]] __device__ static int first_column() { return static_cast<int>(threadIdx.x) / 32 % 2 * warp_tile; }
  /// A thread's element (i, j, e) lies in that row and that column of the tile.
  [[nodiscard]] __device__ static int row(int i, int e) { return first_row() + 16 * i + e / 2 * 8; }
  [[nodiscard]] __device__ static int column(int j, int e) {
    return first_column() + 8 * j + static_cast<int>(threadIdx.x) % 4 * 2 + e % 2;
  }

  /// Calls visitor(element, row, column) for each.
  template <class Visitor>
  __device__ void for_each(const Visitor& visitor) {
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
      for (int j = 0; j < column_tiles; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) visitor(at[i][j][e], row(i, e), column(j, e));
  }

  /// Adds a panel's chunks, each summed from zero by the tensor cores: small products first.
  __device__ void add(const float* panel_a, const float* panel_b) {
#pragma unroll
    for (int k = 0; k < panel_k; k += chunk_k) add_chunk(panel_a, panel_b, k);
  }

  /// Puts sums by f32 in the place of those that slices may not hold.
  __device__ void replace_doubtful(const PlainSums& plain) {
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
      for (int j = 0; j < column_tiles; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (is_doubtful(at[i][j][e], min(plain.of_rows[2 * i + e / 2], plain.of_columns[2 * j + e % 2])))
            at[i][j][e] = plain.at[i][j][e];
  }

  /// Adds a panel term by term to other sums.
  __device__ static void add_plain(PlainSums& to, const float* panel_a, const float* panel_b) {
#pragma unroll 1
    for (int k = 0; k < panel_k; ++k) {
      float x[2 * row_tiles], y[2 * column_tiles];
#pragma unroll
      for (int i = 0; i < 2 * row_tiles; ++i) {
        x[i] = panel_a[PanelA::place(row(i / 2, i % 2 * 2), k)];
        to.of_rows[i] = min(to.of_rows[i], magnitude_or_most(x[i]));
      }
#pragma unroll
      for (int j = 0; j < 2 * column_tiles; ++j) {
        y[j] = panel_b[PanelB::place(column(j / 2, j % 2), k)];
        to.of_columns[j] = min(to.of_columns[j], magnitude_or_most(y[j]));
      }
#pragma unroll
      for (int i = 0; i < 2 * row_tiles; ++i)
#pragma unroll
        for (int j = 0; j < 2 * column_tiles; ++j) {
          float& sum = to.at[i / 2][j / 2][i % 2 * 2 + j % 2];
          sum = fmaf(x[i], y[j], sum);
        }
    }
  }

 private:
  __device__ void look_at(float x, float y) { least = min(least, min(magnitude_or_most(x), magnitude_or_most(y))); }

  __device__ void add_chunk(const float* panel_a, const float* panel_b, int first_k) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int k = first_k + lane % 4 * 4;
    float x[row_tiles][2][4], y[column_tiles][4];
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) PanelA::read(x[i][half], panel_a, row(i, 2 * half), k);
#pragma unroll
    for (int j = 0; j < column_tiles; ++j) PanelB::read(y[j], panel_b, first_column() + 8 * j + lane / 4, k);
    // Of two warps that read the same vectors, each looks for tiny elements in every other chunk.
    if ((warp ^ warp >> 1 ^ first_k / chunk_k) % 2 == 0) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
#pragma unroll
        for (int i = 0; i < row_tiles; ++i) look_at(x[i][0][e], x[i][1][e]);
#pragma unroll
        for (int j = 0; j < column_tiles; j += 2) look_at(y[j][e], y[j + 1][e]);
      }
    }
    std::uint32_t a[slices][row_tiles][4], b[slices][column_tiles][2];
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      PairSlices of_pair;
#pragma unroll
      for (int i = 0; i < 2 * row_tiles; ++i) {
        split(of_pair, x[i / 2][i % 2][2 * pair], x[i / 2][i % 2][2 * pair + 1]);
#pragma unroll
        for (int slice = 0; slice < slices; ++slice) a[slice][i / 2][2 * pair + i % 2] = of_pair[slice];
      }
#pragma unroll
      for (int j = 0; j < column_tiles; ++j) {
        split(of_pair, y[j][2 * pair], y[j][2 * pair + 1]);
#pragma unroll
        for (int slice = 0; slice < slices; ++slice) b[slice][j][pair] = of_pair[slice];
      }
    }
    float sums[row_tiles][column_tiles][4] = {};
    constexpr int products[6][2] = {{0, 2}, {2, 0}, {1, 1}, {0, 1}, {1, 0}, {0, 0}};
#pragma unroll
    for (const auto& [of_a, of_b] : products)
#pragma unroll
      for (int i = 0; i < row_tiles; ++i)
#pragma unroll
        for (int j = 0; j < column_tiles; ++j) isa::mma<__nv_bfloat16>(sums[i][j], a[of_a][i], b[of_b][j]);
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
      for (int j = 0; j < column_tiles; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) at[i][j][e] += sums[i][j][e];
  }
};

}  // namespace exactile::cuda::sm80::f32
