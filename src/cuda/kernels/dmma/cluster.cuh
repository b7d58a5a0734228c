// SPDX-License-Identifier: Apache-2.0
/// \file
/// The end of a tile whose slices of K are CTAs of a cluster: each leaves its sums in shared memory, then finishes its
/// share of the tile from the sums of all, added in order as reduce_kernel does.
#pragma once

#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/dmma/fragments.cuh"
#include "cuda/tile/cluster_sums.cuh"

namespace exactile::cuda::dmma {

/// For the consumer warps of all CTAs; the others have left. T is the kernel's tile. `sums` takes the place of the
/// stages: columns of an odd length, against bank conflicts.
template <class T>
__device__ void finish_in_cluster(const typename T::Warp& tile, const Parameters& w, const WorkTile& work_tile,
                                  double* sums) {
  constexpr int threads = T::threads - T::producer_threads;
  constexpr int line = T::bm + 1;
  static_assert(T::bn * line * 8 <= T::stages * T::stage_bytes);
  isa::named_barrier(1, threads);  // all warps have multiplied what the stages held
#pragma unroll
  for (int i = 0; i < T::Warp::a_parts; ++i)
#pragma unroll
    for (int j = 0; j < T::Warp::places; ++j) {
      const double2 x = tile.sums(i, j);
      sums[tile.column(j) * line + tile.row(i)] = x.x;
      sums[tile.column(j) * line + tile.row(i) + 1] = x.y;
    }
  cluster_barrier();
  const bool by_rows = w.c_layout.column_stride == 1;
  const auto ranks = static_cast<int>(w.split_k);
  const int rank = static_cast<int>(blockIdx.x) % ranks;
  for (int e = rank * threads + static_cast<int>(threadIdx.x) - T::producer_threads; e < T::bm * T::bn;
       e += ranks * threads) {
    const int i = by_rows ? e / T::bn : e % T::bm;
    const int j = by_rows ? e % T::bn : e / T::bm;
    const std::int64_t row = work_tile.row + i;
    const std::int64_t column = work_tile.column + j;
    if (row >= w.m || column >= w.n) continue;
    double* c = product_base(w.c, w.c_layout, work_tile.product) + row * w.c_layout.row_stride +
                column * w.c_layout.column_stride;
    double of_rank[most_ranks];
#pragma unroll
    for (int r = 0; r < most_ranks; ++r) of_rank[r] = r < ranks ? *in_cta(sums + j * line + i, r) : 0;
    double x = accumulate_chunk(w.epilogue, true, of_rank[0], w.epilogue.reads_c ? *c : 0);
#pragma unroll
    for (int r = 1; r < most_ranks; ++r)
      if (r < ranks) x = accumulate_chunk(w.epilogue, false, of_rank[r], x);
    *c = w.epilogue.finish(x, row, column);
  }
  cluster_barrier();  // no CTA leaves while others read its sums
}

}  // namespace exactile::cuda::dmma
