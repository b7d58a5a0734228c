// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums of chunks that lie in the shared memory of a cluster's blocks, and how they are added up.
#pragma once

#include "cuda/isa/cluster.cuh"
#include "cuda/kernels/simt/fold.cuh"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::simt {

/// Whether the splits of a tile are blocks of a cluster. Code compiled for less than sm_90 knows none.
[[nodiscard]] inline bool are_in_clusters(std::int64_t splits, const Device& device) {
  constexpr std::int64_t most_ranks = 8;  // on all devices that have clusters
  return splits > 1 && splits <= most_ranks && device.compute_capability >= 90 && waits_for_kernel_before;
}

/// What the block of that rank in the cluster has where this one has `pointer`.
template <class T>
[[nodiscard]] __device__ inline const T* of_rank(const T* pointer, int rank) {
#if __CUDA_ARCH__ >= 900
  return isa::of_cta(pointer, rank);
#else
  return pointer;
#endif
}

/// Before sm_90 a block is a cluster by itself.
__device__ inline void meet_cluster() {
#if __CUDA_ARCH__ >= 900
  isa::cluster_sync();
#endif
}

/// Leaves one element's sums of the block's chunks, `step` apart, to add_chunks(). Chunks are counted in the caller's
/// integers: others make other, slower code.
template <class T, class Out, class Count>
__device__ inline void leave_chunks(const Work<T, Out>& work, std::int64_t product, std::int64_t chunk_begin,
                                    Count chunks, std::int64_t i, std::int64_t j, const T* own, int step) {
  const GemmDescription& d = work.d;
  T* const to = work.sums + ((product * work.division.chunks + chunk_begin) * d.m + i) * d.n + j;
  for (int chunk = 0; chunk < chunks; ++chunk) to[chunk * d.m * d.n] = own[chunk * step];
}

/// Adds the sums of all ranks' chunks of one element, in order, and finishes it. Each rank has them where this one has
/// `own`, `step` apart.
template <class T, class Out>
__device__ inline void finish_ranks(const Work<T, Out>& work, std::int64_t product, std::int64_t i, std::int64_t j,
                                    const T* own, int step, int ranks) {
  const GemmDescription& d = work.d;
  const Division& division = work.division;
  Out* const place = product_base(work.c, d.c, product) + i * d.c.row_stride + j * d.c.column_stride;
  const T* sums = ranks > 1 ? of_rank(own, 0) : own;
  T x = first_total(work.epilogue, sums[0], work.epilogue.reads_c ? work.epilogue.load_c(place) : T{});
  int first = 1;
  for (int other = 0; other < ranks; ++other) {
    if (other > 0) sums = of_rank(own, other);
    const auto chunks =
        static_cast<int>(min(division.chunks - other * division.chunks_per_split, division.chunks_per_split));
#pragma unroll 8
    for (int chunk = first; chunk < chunks; ++chunk) x = add_scaled(work.epilogue.alpha, sums[chunk * step], x);
    first = 0;
  }
  *place = narrow<Out>(work.epilogue.finish(x, i, j));
}

}  // namespace exactile::cuda::simt
