// SPDX-License-Identifier: Apache-2.0
/// \file
/// The end of a tile whose slices of K are CTAs of a cluster: each leaves its sums in shared memory, then finishes its
/// share of the tile from the sums of all, added in order as reduce_kernel does.
#pragma once

#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/dmma/fragments.cuh"
#include "cuda/tile/cluster_sums.cuh"

namespace exactile::cuda::dmma {

/// Where a CTA's sums lie in shared memory: in lines along C's contiguous dimension, so that neighbours read neighbours
/// of another CTA. Lines begin so that the stores of a warp meet no bank conflict.
template <int Rows, int Columns>
struct SumsOfCta {
  bool by_rows;

  static constexpr int row_line = Columns + 2, column_line = Rows + 4;
  static constexpr int bytes = 8 * (Rows * row_line > Columns * column_line ? Rows * row_line : Columns * column_line);
  [[nodiscard]] __device__ int at(int i, int j) const { return by_rows ? i * row_line + j : j * column_line + i; }
};

/// For the consumer warps of all CTAs; the others have left. T is the kernel's tile. `sums` takes the place of the
/// stages.
template <class T>
__device__ void finish_in_cluster(const typename T::Warp& tile, const Parameters& w, const WorkTile& work_tile,
                                  double* sums) {
  constexpr int threads = T::threads - T::producer_threads;
  using Sums = SumsOfCta<T::bm, T::bn>;
  static_assert(Sums::bytes <= T::stages * T::stage_bytes);
  const Sums place{w.c_layout.column_stride == 1};
  isa::named_barrier(1, threads);  // all warps have multiplied what the stages held
#pragma unroll
  for (int i = 0; i < T::Warp::a_parts; ++i)
#pragma unroll
    for (int j = 0; j < T::Warp::places; ++j) {
      const double2 x = tile.sums(i, j);
      sums[place.at(tile.row(i), tile.column(j))] = x.x;
      sums[place.at(tile.row(i) + 1, tile.column(j))] = x.y;
    }
  cluster_barrier();
  const auto ranks = static_cast<int>(w.split_k);
  const int rank = static_cast<int>(blockIdx.x) % ranks;
  for (int pair = rank * threads + static_cast<int>(threadIdx.x) - T::producer_threads; pair < T::bm * T::bn / 2;
       pair += ranks * threads) {
    const int i = place.by_rows ? 2 * pair / T::bn : 2 * pair % T::bm;
    const int j = place.by_rows ? 2 * pair % T::bn : 2 * pair / T::bm;
    double2 of_rank[most_ranks];
#pragma unroll
    for (int r = 0; r < most_ranks; ++r)
      if (r < ranks) of_rank[r] = *in_cta(reinterpret_cast<const double2*>(sums + place.at(i, j)), r);
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const std::int64_t row = work_tile.row + i + (place.by_rows ? 0 : e);
      const std::int64_t column = work_tile.column + j + (place.by_rows ? e : 0);
      if (row >= w.m || column >= w.n) continue;
      double* c = product_base(w.c, w.c_layout, work_tile.product) + row * w.c_layout.row_stride +
                  column * w.c_layout.column_stride;
      const auto sum_of = [&](int r) { return e == 0 ? of_rank[r].x : of_rank[r].y; };
      double x = accumulate_chunk(w.epilogue, true, sum_of(0), w.epilogue.reads_c ? *c : 0);
#pragma unroll
      for (int r = 1; r < most_ranks; ++r)
        if (r < ranks) x = accumulate_chunk(w.epilogue, false, sum_of(r), x);
      *c = w.epilogue.finish(x, row, column);
    }
  }
  cluster_barrier();  // no CTA leaves while others read its sums
}

}  // namespace exactile::cuda::dmma
