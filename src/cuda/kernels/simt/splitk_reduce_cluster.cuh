// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums of chunks that lie in the shared memory of a cluster's blocks, and how they are added up.
#pragma once

#include "cuda/kernels/simt/splitk_reduce.cuh"
#include "cuda/tile/cluster_sums.cuh"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::simt {

/// Whether the K slices of a tile are blocks of a cluster. Code compiled for less than sm_90 knows none.
[[nodiscard]] inline bool are_in_clusters(std::int64_t split_k, const Device& device) {
  constexpr std::int64_t most_ranks = 8;  // on all devices that have clusters
  return split_k > 1 && split_k <= most_ranks && device.compute_capability >= 90 && waits_for_kernel_before;
}

/// Leaves one element's sums of the block's chunks, `step` apart, to enqueue_splitk_reduce(). Chunks are counted in the
/// caller's integers: others make other, slower code.
template <class T, class Out, class Count>
__device__ inline void store_chunk_sums(const Parameters<T, Out>& p, std::int64_t product, std::int64_t chunk_begin,
                                        Count chunks, std::int64_t i, std::int64_t j, const T* own, int step) {
  const GemmDescription& d = p.d;
  T* const to = p.sums + ((product * p.division.chunks + chunk_begin) * d.m + i) * d.n + j;
  for (int chunk = 0; chunk < chunks; ++chunk) to[chunk * d.m * d.n] = own[chunk * step];
}

/// Adds the sums of all ranks' chunks of one element, in order, and finishes it. Each rank has them where this one has
/// `own`, `step` apart.
template <class T, class Out>
__device__ inline void splitk_reduce_cluster(const Parameters<T, Out>& p, std::int64_t product, std::int64_t i,
                                             std::int64_t j, const T* own, int step, int ranks) {
  const GemmDescription& d = p.d;
  const Division& division = p.division;
  Out* const place = product_base(p.c, d.c, product) + i * d.c.row_stride + j * d.c.column_stride;
  const T* sums = ranks > 1 ? in_cta(own, 0) : own;
  T x = first_total(p.epilogue, sums[0], p.epilogue.reads_c ? p.epilogue.load_c(place) : T{});
  int first = 1;
  for (int other = 0; other < ranks; ++other) {
    if (other > 0) sums = in_cta(own, other);
    const auto chunks =
        static_cast<int>(min(division.chunks - other * division.chunks_per_slice, division.chunks_per_slice));
#pragma unroll 8
    for (int chunk = first; chunk < chunks; ++chunk) x = add_scaled(p.epilogue.alpha, sums[chunk * step], x);
    first = 0;
  }
  *place = narrow<Out>(p.epilogue.finish(x, i, j));
}

}  // namespace exactile::cuda::simt
