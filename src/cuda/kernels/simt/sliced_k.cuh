// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of few tiles by sliced-K: a warp sums a piece of a chunk of K (see summation_order.hpp) for a whole tile of
/// C, so that all pieces of a chunk are on their way at the same time, in a block. Each warp streams its k through a
/// pipeline of its own; then the block adds the pieces in order. Blocks that share K are a cluster and read each
/// other's sums of chunks, or where there are too many of them, or no clusters, leave theirs to
/// enqueue_splitk_reduce().
#pragma once

#include "cuda/kernels/simt/splitk_reduce_cluster.cuh"
#include "cuda/kernels/simt/tile_kernel.cuh"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::simt {

/// How such a product is divided: blocks have so many warps.
struct SlicedKDivision {
  Division division;
  int warps;
  bool in_clusters;  ///< K slices of a tile are neighbouring blocks; otherwise their sums meet in memory

  [[nodiscard]] __host__ __device__ bool reduces_in_memory() const { return division.split_k > 1 && !in_clusters; }
};

inline constexpr int most_piece_warps = chunk_k / tile_piece_k;
inline constexpr std::int64_t most_chunks_of_block = 8;  ///< whose sums lie in shared memory

/// Elements of a warp's pipeline; the sums of its piece lie there afterwards.
template <class S, AccessPattern walk_a, AccessPattern walk_b>
inline constexpr int pipeline_elements = S::stages* Mainloop<S, walk_a, walk_b>::slot_elements > S::bm* S::bn
                                             ? S::stages* Mainloop<S, walk_a, walk_b>::slot_elements
                                             : S::bm* S::bn;

/// Leaves the sums of this warp's piece of `chunk` in its pipeline, [row][column].
template <class S, AccessPattern walk_a, AccessPattern walk_b>
__device__ inline void accumulate_piece(const Parameters<typename S::In, typename S::Out>& p, const WorkTile& work_tile,
                                        std::int64_t begin, typename S::Accumulator* pipeline) {
  using Accumulator = typename S::Accumulator;
  const std::int64_t end = min(begin + tile_piece_k, p.d.k);
  auto loop =
      begin_mainloop<S, walk_a, walk_b>(p, work_tile.product, work_tile.row, work_tile.column, begin, end, pipeline);
  Accumulator sums[S::tm][S::tn] = {};
  loop.begin_chunk();
  loop.accumulate(sums, (static_cast<int>(end - begin) + S::bk - 1) / S::bk);
  isa::copy_async_wait<0>();
  __syncwarp();
  using StripA = typename Mainloop<S, walk_a, walk_b>::StripA;
  using StripB = typename Mainloop<S, walk_a, walk_b>::StripB;
  using Group = Pack<Accumulator, StripB::width>;
#pragma unroll
  for (int i = 0; i < S::tm; ++i)
#pragma unroll
    for (int g = 0; g < StripB::groups; ++g) {
      Group group;
#pragma unroll
      for (int e = 0; e < StripB::width; ++e) group.at[e] = sums[i][g * StripB::width + e];
      *reinterpret_cast<Group*>(pipeline + (loop.row + StripA::place(i)) * S::bn + loop.column +
                                StripB::place(g * StripB::width)) = group;
    }
}

/// The block's tile, and its chunks of K.
template <class S>
[[nodiscard]] __device__ inline WorkTile sliced_k_work_tile(const Division& division) {
  const std::uint32_t tile = blockIdx.x / division.split_k;
  const std::uint32_t tiles = division.row_tiles * division.column_tiles;
  const std::uint32_t product = tile / tiles;
  const std::uint32_t in_product = tile - product * tiles;
  const std::int64_t begin = blockIdx.x % division.split_k * division.chunks_per_slice;
  return {product, static_cast<std::int64_t>(in_product / division.column_tiles) * S::bm,
          static_cast<std::int64_t>(in_product % division.column_tiles) * S::bn, begin,
          min(begin + division.chunks_per_slice, division.chunks)};
}

template <class S, AccessPattern walk_a, AccessPattern walk_b>
__global__ void __launch_bounds__(32 * most_piece_warps, 1)
    sliced_k_kernel(const __grid_constant__ Parameters<typename S::In, typename S::Out> p,
                    const __grid_constant__ SlicedKDivision sliced_k) {
  using Accumulator = typename S::Accumulator;
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int pipeline = pipeline_elements<S, walk_a, walk_b>;
  constexpr int of_tile = S::bm * S::bn;
  const GemmDescription& d = p.d;
  const WorkTile work_tile = sliced_k_work_tile<S>(p.division);
  auto* const pipelines = reinterpret_cast<Accumulator*>(shared);
  Accumulator* const chunk_sums = pipelines + sliced_k.warps * pipeline;  // [chunk][row][column]
  const int warp = static_cast<int>(threadIdx.x / 32);

  start_kernel_after();
  wait_for_kernel_before();
  for (std::int64_t chunk = work_tile.chunk_begin; chunk < work_tile.chunk_end; ++chunk) {
    const std::int64_t begin = chunk * chunk_k + warp * tile_piece_k;
    if (begin < d.k) accumulate_piece<S, walk_a, walk_b>(p, work_tile, begin, pipelines + warp * pipeline);
    __syncthreads();
    const auto k_of_chunk = static_cast<int>(min(d.k - chunk * chunk_k, std::int64_t{chunk_k}));
    const int count = (k_of_chunk + tile_piece_k - 1) / tile_piece_k;
    Accumulator* const to = chunk_sums + (chunk - work_tile.chunk_begin) * of_tile;
    for (int e = static_cast<int>(threadIdx.x); e < of_tile; e += static_cast<int>(blockDim.x)) {
      Accumulator sum{};
#pragma unroll 16
      for (int piece = 0; piece < count; ++piece) sum = add(sum, pipelines[piece * pipeline + e]);
      to[e] = sum;
    }
    __syncthreads();  // the pipelines are free
  }

  const bool apart = sliced_k.reduces_in_memory();
  const int ranks = apart ? 1 : static_cast<int>(p.division.split_k);
  if (ranks > 1) cluster_barrier();
  const int rank = apart ? 0 : static_cast<int>(blockIdx.x % p.division.split_k);
  for (int e = rank * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x); e < of_tile;
       e += ranks * static_cast<int>(blockDim.x)) {
    const std::int64_t i = work_tile.row + e / S::bn;
    const std::int64_t j = work_tile.column + e % S::bn;
    if (i >= d.m || j >= d.n) continue;
    if (apart) {
      store_chunk_sums(p, work_tile.product, work_tile.chunk_begin,
                       static_cast<int>(work_tile.chunk_end - work_tile.chunk_begin), i, j, chunk_sums + e, of_tile);
    } else {
      splitk_reduce_cluster(p, work_tile.product, i, j, chunk_sums + e, of_tile, ranks);
    }
  }
  if (ranks > 1) cluster_barrier();  // no block leaves while others read its sums
}

struct SlicedKInstance {
  void (*kernel)(Parameters<float, float>, SlicedKDivision);
  int ring_bytes;  ///< of a warp
  int tile_bytes;
};

[[nodiscard]] inline int sliced_k_shared_bytes(const SlicedKInstance& instance, const SlicedKDivision& sliced_k) {
  return sliced_k.warps * instance.ring_bytes +
         static_cast<int>(sliced_k.division.chunks_per_slice) * instance.tile_bytes;
}

/// The instance for operands that lie so.
template <class S>
[[nodiscard]] constexpr SlicedKInstance sliced_k_instance_for(AccessPattern a, AccessPattern b) {
  return with_patterns(a, b, []<AccessPattern a_pattern, AccessPattern b_pattern>() {
    return SlicedKInstance{sliced_k_kernel<S, a_pattern, b_pattern>,
                           static_cast<int>(sizeof(float)) * pipeline_elements<S, a_pattern, b_pattern>,
                           static_cast<int>(sizeof(float)) * S::bm * S::bn};
  });
}

}  // namespace exactile::cuda::simt
