// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel of sm80_f32_bf16x6_mma. A cluster of CTAs has a tile of C, each of them a part of K; they add their sums
/// in order of K, each for a share of the tile's rows.
#pragma once

#include "cuda/kernels/simt/parameters.cuh"
#include "cuda/kernels/sm80/f32_sums.cuh"
#include "cuda/tile/cluster_sums.cuh"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::sm80::f32 {

/// A product whose rows of C are contiguous if anything is. Passed to kernels by value.
struct F32Work {
  simt::Parameters<float, float> product;
  int ranks;             ///< CTAs of a cluster
  int panels_of_rank;    ///< the last ones may have fewer
  std::uint64_t* parts;  ///< counts CTAs, and those that summed again in f32; or null
};

inline constexpr int stages = 4;
inline constexpr int most_ctas = 3;  ///< that share an SM

/// The block's dynamic shared memory: panels, and then the sums of its part of K.
struct F32Space {
  static constexpr int pitch = tile + 8;
  static constexpr int panel = 2 * tile * panel_k;
  union {
    float panels[stages][panel];
    float sums[tile * pitch];
  };
  std::uint32_t least;  ///< magnitude of all elements, if it is so small as to matter
};

/// Adds a CTA's part of K, panel after panel, to sums that are zero.
template <bool a_k_major, bool b_k_major, class Add>
__device__ inline void for_each_panel(F32Space& space, const Vectors& a, const Vectors& b, const Add& add) {
  constexpr int of_a = tile * panel_k;
  PanelReader<tile, a_k_major, threads> reader_a(a);
  PanelReader<tile, b_k_major, threads> reader_b(b);
  const int panels = (a.k + panel_k - 1) / panel_k;
  const auto fetch = [&](int panel) {
    if (panel < panels) {
      float* const to = space.panels[panel % stages];
      reader_a.fetch(to);
      reader_b.fetch(to + of_a);
    }
    isa::copy_async_commit();
  };
  for (int panel = 0; panel < stages - 1; ++panel) fetch(panel);
#pragma unroll 1
  for (int panel = 0; panel < panels; ++panel) {
    isa::copy_async_wait<stages - 2>();
    __syncthreads();
    fetch(panel + stages - 1);
    const float* const from = space.panels[panel % stages];
    add(from, from + of_a);
  }
  isa::copy_async_wait<0>();
  __syncthreads();
}

/// By a CTA: whether any of its sums is doubtful, if the least of all elements were in its row.
template <class Sums>
[[nodiscard]] __device__ inline bool has_doubts(F32Space& space, Sums& sums, int rows, int columns) {
  if (threadIdx.x == 0) space.least = ~0u;
  __syncthreads();
  if (sums.least < magnitude_of_power(least_of_products)) atomicMin(&space.least, sums.least);
  __syncthreads();
  bool doubts = false;
  sums.for_each([&](float& sum, int row, int column) {
    doubts = doubts || (row < rows && column < columns && is_doubtful(sum, space.least));
  });
  return __syncthreads_or(doubts) != 0;
}

/// Puts a CTA's sums where the cluster finds them.
template <class Sums>
__device__ inline void leave(F32Space& space, Sums& sums) {
#pragma unroll
  for (int i = 0; i < Sums::row_tiles; ++i)
#pragma unroll
    for (int j = 0; j < Sums::column_tiles; ++j)
#pragma unroll
      for (int e = 0; e < 4; e += 2)
        *reinterpret_cast<float2*>(space.sums + Sums::row(i, e) * F32Space::pitch + Sums::column(j, e)) =
            make_float2(sums.at[i][j][e], sums.at[i][j][e + 1]);
}

__device__ inline void barrier(int ranks) {
  if (ranks > 1) {
    cluster_barrier();
  } else {
    __syncthreads();
  }
}

/// A CTA's share of the tile: rows, to C.
__device__ inline void store_share(F32Space& space, const F32Work& w, const simt::WorkTile& work_tile, int rank) {
  constexpr int pitch = F32Space::pitch, fours = tile / 4;
  const simt::Parameters<float, float>& p = w.product;
  const GemmDescription& d = p.d;
  const int share = (tile + w.ranks - 1) / w.ranks, first = rank * share;
  const int rows = min(first + share, static_cast<int>(min(d.m - work_tile.row, std::int64_t{tile})));
  const int columns = static_cast<int>(min(d.n - work_tile.column, std::int64_t{tile}));
  float* const corner =
      product_base(p.c, d.c, work_tile.product) + work_tile.row * d.c.row_stride + work_tile.column * d.c.column_stride;
  const bool by_fours = p.epilogue.is_plain && d.c.column_stride == 1 && d.c.row_stride % 4 == 0 &&
                        reinterpret_cast<std::uintptr_t>(corner) % 16 == 0;
  if (w.ranks > 1 || by_fours) {
#pragma unroll 2
    for (int at = static_cast<int>(threadIdx.x); at < (rows - first) * fours; at += threads) {
      const int row = first + at / fours, column = at % fours * 4;
      auto* const own = reinterpret_cast<float4*>(space.sums + row * pitch + column);
      float4 sum = w.ranks > 1 ? make_float4(0, 0, 0, 0) : *own;
      if (w.ranks > 1)
#pragma unroll 4
        for (int other = 0; other < w.ranks; ++other) {
          const float4 part = *in_cta(own, other);
          sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
        }
      if (by_fours && column + 3 < columns)
        *reinterpret_cast<float4*>(corner + row * d.c.row_stride + column) = sum;
      else
        *own = sum;
    }
    if (by_fours && columns % 4 == 0) return;
    __syncthreads();
  }
  const int done = by_fours ? columns / 4 * 4 : 0;
#pragma unroll 4
  for (int at = static_cast<int>(threadIdx.x); at < (rows - first) * tile; at += threads) {
    const int row = first + at / tile, column = at % tile;
    if (column >= done && column < columns)
      p.epilogue.store(corner + row * d.c.row_stride + column * d.c.column_stride, space.sums[row * pitch + column],
                       work_tile.row + row, work_tile.column + column);
  }
}

template <bool a_k_major, bool b_k_major>
__global__ void __launch_bounds__(threads, most_ctas) f32_mma_kernel(const __grid_constant__ F32Work w) {
  extern __shared__ __align__(128) std::byte shared[];
  auto& space = *reinterpret_cast<F32Space*>(shared);
  const simt::Parameters<float, float>& p = w.product;
  const GemmDescription& d = p.d;
  const int rank = static_cast<int>(blockIdx.x) % w.ranks;
  const simt::WorkTile at = simt::work_tile_at(p.division, blockIdx.x / static_cast<unsigned>(w.ranks), tile, tile);
  const std::int64_t first_k = std::int64_t{rank} * w.panels_of_rank * panel_k;
  const int own_k =
      static_cast<int>(max(min(d.k - first_k, std::int64_t{w.panels_of_rank} * panel_k), std::int64_t{0}));
  start_kernel_after();
  wait_for_kernel_before();
  const Vectors a{product_base(p.a, d.a, at.product) + at.row * d.a.row_stride + first_k * d.a.column_stride,
                  d.a.row_stride, d.a.column_stride, static_cast<int>(min(d.m - at.row, std::int64_t{tile})), own_k};
  const Vectors b{product_base(p.b, d.b, at.product) + at.column * d.b.column_stride + first_k * d.b.row_stride,
                  d.b.column_stride, d.b.row_stride, static_cast<int>(min(d.n - at.column, std::int64_t{tile})), own_k};
  WarpSums<a_k_major, b_k_major> sums;
  for_each_panel<a_k_major, b_k_major>(space, a, b,
                                       [&](const float* panel_a, const float* panel_b) { sums.add(panel_a, panel_b); });
  const bool doubts = has_doubts(space, sums, a.count, b.count);
  if (doubts) {
    PlainSums plain;
    for_each_panel<a_k_major, b_k_major>(
        space, a, b, [&](const float* panel_a, const float* panel_b) { sums.add_plain(plain, panel_a, panel_b); });
    sums.replace_doubtful(plain);
  }
  if (threadIdx.x == 0 && w.parts != nullptr) {
    auto* const parts = reinterpret_cast<unsigned long long*>(w.parts);
    atomicAdd(parts, 1ull);
    if (doubts) atomicAdd(parts + 1, 1ull);
  }
  leave(space, sums);
  barrier(w.ranks);
  store_share(space, w, at, rank);
  if (w.ranks > 1) leave_cluster();
}

}  // namespace exactile::cuda::sm80::f32
