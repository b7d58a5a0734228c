// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of few tiles by sliced-K: a warp sums a piece of K (see summation_order.hpp) for a whole tile of C, and the
/// CTAs of a cluster share the pieces, so that all of K is on its way at the same time. Each warp streams its k through
/// a pipeline of its own. The sums of all pieces lie in shared memory, and each CTA adds those of some elements in
/// order.
#pragma once

#include "cuda/kernels/simt/tile_kernel.cuh"
#include "cuda/tile/cluster_sums.cuh"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::simt {

inline constexpr int sliced_k_warps = 16;  ///< of a CTA
inline constexpr int pieces_of_chunk = chunk_k / tile_piece_k;

/// How such a product is divided.
struct SlicedKDivision {
  std::uint32_t row_tiles = 1;
  std::uint32_t column_tiles = 1;
  int pieces = 1;          ///< of K
  int ranks = 1;           ///< CTAs of a cluster, which share the pieces of a tile: a power of two
  int pieces_of_rank = 1;  ///< the last ranks may have fewer, or none
  int warps = 1;           ///< of a CTA that take its pieces in turn; all of a CTA add them

  [[nodiscard]] __host__ __device__ int chunks() const { return (pieces + pieces_of_chunk - 1) / pieces_of_chunk; }
};

/// Leaves the sums of the piece that begins at `begin` at `to`, [row][column].
template <class S, AccessPattern walk_a, AccessPattern walk_b>
__device__ inline void accumulate_piece(const Parameters<typename S::In, typename S::Out>& p, const WorkTile& work_tile,
                                        std::int64_t begin, typename S::Accumulator* pipeline,
                                        typename S::Accumulator* to) {
  using Accumulator = typename S::Accumulator;
  const std::int64_t end = min(begin + tile_piece_k, p.d.k);
  auto loop =
      begin_mainloop<S, walk_a, walk_b>(p, work_tile.product, work_tile.row, work_tile.column, begin, end, pipeline);
  Accumulator sums[S::tm][S::tn] = {};
  loop.begin_chunk();
  loop.accumulate(sums, (static_cast<int>(end - begin) + S::bk - 1) / S::bk);
  isa::copy_async_wait<0>();
  __syncwarp();  // the pipeline is free
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
      *reinterpret_cast<Group*>(to + (loop.row + StripA::place(i)) * S::bn + loop.column +
                                StripB::place(g * StripB::width)) = group;
    }
}

/// Adds the pieces of a chunk in order. Each rank has its pieces' sums where this one has `own`, `step` apart.
template <class T>
[[nodiscard]] __device__ inline T sum_of_chunk(const SlicedKDivision& division, int chunk, const T* own, int step) {
  const int first = chunk * pieces_of_chunk;
  const int count = min(division.pieces - first, pieces_of_chunk);
  int rank = first / division.pieces_of_rank, piece = first - rank * division.pieces_of_rank;
  T read[pieces_of_chunk];
#pragma unroll
  for (int i = 0; i < pieces_of_chunk; ++i) {
    if (i < count) read[i] = in_cta(own, rank)[piece * step];
    if (++piece < division.pieces_of_rank) continue;
    piece = 0;
    ++rank;
  }
  T sum{};
#pragma unroll
  for (int i = 0; i < pieces_of_chunk; ++i)
    if (i < count) sum = add(sum, read[i]);
  return sum;
}

/// Adds the sums of chunks, `step` apart, in order.
template <class T, class Out>
[[nodiscard]] __device__ inline T sum_of_chunks(const Epilogue<T, Out>& epilogue, int chunks, const T* sums, int step,
                                                T before) {
  T x = first_total(epilogue, sums[0], before);
#pragma unroll 8
  for (int chunk = 1; chunk < chunks; ++chunk) x = add_scaled(epilogue.alpha, sums[chunk * step], x);
  return x;
}

/// The tile of the CTA's cluster.
template <class S>
[[nodiscard]] __device__ inline WorkTile sliced_k_work_tile(const SlicedKDivision& division) {
  const std::uint32_t tile = blockIdx.x / static_cast<std::uint32_t>(division.ranks);
  const std::uint32_t tiles = division.row_tiles * division.column_tiles;
  const std::uint32_t product = tile / tiles;
  const std::uint32_t in_product = tile - product * tiles;
  return {product, static_cast<std::int64_t>(in_product / division.column_tiles) * S::bm,
          static_cast<std::int64_t>(in_product % division.column_tiles) * S::bn, 0, 0};
}

template <class S, AccessPattern walk_a, AccessPattern walk_b>
__global__ void __launch_bounds__(32 * sliced_k_warps, 1)
    sliced_k_kernel(const __grid_constant__ Parameters<typename S::In, typename S::Out> p,
                    const __grid_constant__ SlicedKDivision division) {
  using Accumulator = typename S::Accumulator;
  using Out = typename S::Out;
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int pipeline = S::stages * Mainloop<S, walk_a, walk_b>::slot_elements;
  constexpr int of_tile = S::bm * S::bn;
  const GemmDescription& d = p.d;
  const WorkTile work_tile = sliced_k_work_tile<S>(division);
  auto* const pipelines = reinterpret_cast<Accumulator*>(shared);
  Accumulator* const piece_sums = pipelines + division.warps * pipeline;  // [piece][row][column]
  const int warp = static_cast<int>(threadIdx.x / 32);
  const int rank = static_cast<int>(blockIdx.x) % division.ranks;

  start_kernel_after();
  wait_for_kernel_before();
  const int first = rank * division.pieces_of_rank;
  const int count = min(division.pieces - first, division.pieces_of_rank);
  for (int piece = warp; warp < division.warps && piece < count; piece += division.warps)
    accumulate_piece<S, walk_a, walk_b>(p, work_tile, std::int64_t{first + piece} * tile_piece_k,
                                        pipelines + warp * pipeline, piece_sums + piece * of_tile);

  if (division.ranks > 1) {
    cluster_barrier();
  } else {
    __syncthreads();
  }
  const int share = of_tile / division.ranks, chunks = division.chunks();
  Accumulator* const chunk_sums = piece_sums + division.pieces_of_rank * of_tile;  // [chunk][element of the share]
  for (int at = static_cast<int>(threadIdx.x); at < chunks * share; at += static_cast<int>(blockDim.x)) {
    const int chunk = at / share;
    chunk_sums[at] = sum_of_chunk(division, chunk, piece_sums + rank * share + at - chunk * share, of_tile);
  }
  __syncthreads();
  for (int at = static_cast<int>(threadIdx.x); at < share; at += static_cast<int>(blockDim.x)) {
    const int e = rank * share + at;
    const std::int64_t i = work_tile.row + e / S::bn;
    const std::int64_t j = work_tile.column + e % S::bn;
    if (i >= d.m || j >= d.n) continue;
    Out* const place = product_base(p.c, d.c, work_tile.product) + i * d.c.row_stride + j * d.c.column_stride;
    const Accumulator before = p.epilogue.reads_c ? p.epilogue.load_c(place) : Accumulator{};
    const Accumulator x = sum_of_chunks(p.epilogue, chunks, chunk_sums + at, share, before);
    *place = narrow<Out>(p.epilogue.finish(x, i, j));
  }
  if (division.ranks > 1) cluster_barrier();  // no CTA leaves while others read its sums
}

struct SlicedKInstance {
  void (*kernel)(Parameters<float, float>, SlicedKDivision);
  int pipeline_bytes;  ///< of a warp
  int tile_bytes;
};

[[nodiscard]] inline int sliced_k_shared_bytes(const SlicedKInstance& instance, const SlicedKDivision& division) {
  return division.warps * instance.pipeline_bytes + division.pieces_of_rank * instance.tile_bytes +
         division.chunks() * instance.tile_bytes / division.ranks;
}

/// The instance for operands that lie so.
template <class S>
[[nodiscard]] constexpr SlicedKInstance sliced_k_instance_for(AccessPattern a, AccessPattern b) {
  return with_patterns(a, b, []<AccessPattern a_pattern, AccessPattern b_pattern>() {
    constexpr int element = static_cast<int>(sizeof(float));
    return SlicedKInstance{sliced_k_kernel<S, a_pattern, b_pattern>,
                           element * S::stages * Mainloop<S, a_pattern, b_pattern>::slot_elements,
                           element * S::bm * S::bn};
  });
}

}  // namespace exactile::cuda::simt
