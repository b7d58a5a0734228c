// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of few tiles by sliced-K: each warp of a CTA sums pieces of K (see summation_order.hpp) for a whole tile of
/// C, and the CTAs of a cluster share K, so that much of K is on its way at the same time. A warp streams its pieces
/// through a pipeline of its own. The sums of a chunk's pieces lie in shared memory, where all threads add them in
/// order: a CTA those of its own chunks, or, where K is too short to give each CTA whole chunks, of its share of C
/// those of all CTAs.
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
  int pieces_of_rank = 1;  ///< at most a chunk's, or those of whole chunks; the last ranks may have fewer, or none
  int warps = 1;           ///< of a CTA that take its pieces in turn; all of a CTA add them

  [[nodiscard]] __host__ __device__ int chunks() const { return (pieces + pieces_of_chunk - 1) / pieces_of_chunk; }
  [[nodiscard]] __host__ __device__ bool owns_chunks() const { return pieces_of_rank % pieces_of_chunk == 0; }
  [[nodiscard]] __host__ __device__ int chunks_of_rank() const { return pieces_of_rank / pieces_of_chunk; }
};

/// Sums the pieces of one chunk, or part of one, that are this warp's: `warp`, warp + `warps`, ... of `count`. Leaves
/// each at sums[piece], [row][column]. The pipeline goes on with the warp's next piece, be it of this chunk or not.
template <class S, AccessPattern walk_a, AccessPattern walk_b>
__device__ inline void sum_pieces(Mainloop<S, walk_a, walk_b>& loop, int warp, int warps, int count,
                                  typename S::Accumulator* sums) {
  using Accumulator = typename S::Accumulator;
  using StripA = typename Mainloop<S, walk_a, walk_b>::StripA;
  using StripB = typename Mainloop<S, walk_a, walk_b>::StripB;
  using Group = Pack<Accumulator, StripB::width>;
  constexpr int panels = tile_piece_k / S::bk;
  constexpr int before_skip = panels - (S::stages - 1);  // then the panels to fetch are the next piece's
  static_assert(before_skip >= 0);
  for (int piece = warp; piece < count; piece += warps) {
    Accumulator of_piece[S::tm][S::tn] = {};
    loop.begin_chunk();
    loop.accumulate(of_piece, before_skip);
    loop.skip((warps - 1) * tile_piece_k);
    loop.accumulate(of_piece, panels - before_skip);
    Accumulator* const to = sums + piece * (S::bm * S::bn) + loop.row * S::bn + loop.column;
#pragma unroll
    for (int i = 0; i < S::tm; ++i)
#pragma unroll
      for (int g = 0; g < StripB::groups; ++g) {
        Group group;
#pragma unroll
        for (int e = 0; e < StripB::width; ++e) group.at[e] = of_piece[i][g * StripB::width + e];
        *reinterpret_cast<Group*>(to + StripA::place(i) * S::bn + StripB::place(g * StripB::width)) = group;
      }
  }
}

/// Adds the `count` sums of a chunk's pieces in order, as read(piece) gives them.
template <class Read>
[[nodiscard]] __device__ inline auto sum_of_chunk(int count, Read read) {
  decltype(read(0)) piece[pieces_of_chunk], sum{};
#pragma unroll
  for (int i = 0; i < pieces_of_chunk; ++i)
    if (i < count) piece[i] = read(i);
#pragma unroll
  for (int i = 0; i < pieces_of_chunk; ++i)
    if (i < count) sum = add(sum, piece[i]);
  return sum;
}

/// Adds the sums of chunks in order, as read(chunk) gives them.
template <class T, class Out, class Read>
[[nodiscard]] __device__ inline T sum_of_chunks(const Epilogue<T, Out>& epilogue, int chunks, T before, Read read) {
  T x = first_total(epilogue, read(0), before);
#pragma unroll 8
  for (int chunk = 1; chunk < chunks; ++chunk) x = add_scaled(epilogue.alpha, read(chunk), x);
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

/// The sums of the `count` pieces of a CTA's chunks, [chunk][element of the tile]. sum_pieces(here) leaves those of the
/// next chunk's `here` pieces, as far as they are this warp's, at piece_sums.
template <class T, class SumPieces>
__device__ inline void sum_own_chunks(int count, int of_tile, const T* piece_sums, T* chunk_sums,
                                      SumPieces sum_pieces) {
  for (int left = count; left > 0; left -= pieces_of_chunk, chunk_sums += of_tile) {
    const int here = min(left, pieces_of_chunk);
    sum_pieces(here);
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < of_tile; e += static_cast<int>(blockDim.x))
      chunk_sums[e] = sum_of_chunk(here, [&](int piece) { return piece_sums[piece * of_tile + e]; });
    __syncthreads();
  }
}

/// The sums of all chunks for the CTA's share of C, [chunk][element]: their pieces lie with all CTAs.
template <class T>
__device__ inline void sum_shared_chunks(const SlicedKDivision& division, int first, int share, int of_tile,
                                         const T* piece_sums, T* chunk_sums) {
  const int chunks = division.chunks();
  for (int at = static_cast<int>(threadIdx.x); at < chunks * share; at += static_cast<int>(blockDim.x)) {
    const int chunk = at / share, begin = chunk * pieces_of_chunk;
    int rank = begin / division.pieces_of_rank, piece = begin - rank * division.pieces_of_rank;
    const T* const own = piece_sums + first + at - chunk * share;
    chunk_sums[at] = sum_of_chunk(min(division.pieces - begin, pieces_of_chunk), [&](int) {
      const T read = in_cta(own, rank)[piece * of_tile];
      if (++piece == division.pieces_of_rank) {
        piece = 0;
        ++rank;
      }
      return read;
    });
  }
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
  Accumulator* const piece_sums = pipelines + division.warps * pipeline;  // [piece of a chunk][row][column]
  Accumulator* const chunk_sums = piece_sums + min(division.pieces_of_rank, pieces_of_chunk) * of_tile;
  const int warp = static_cast<int>(threadIdx.x / 32);
  const int rank = static_cast<int>(blockIdx.x) % division.ranks;
  const int first = rank * division.pieces_of_rank;
  const int count = min(division.pieces - first, division.pieces_of_rank);
  const int share = of_tile / division.ranks;
  const bool owns_chunks = division.owns_chunks();

  start_kernel_after();
  wait_for_kernel_before();
  if (warp < division.warps) {
    auto loop = begin_mainloop<S, walk_a, walk_b>(
        p, work_tile.product, work_tile.row, work_tile.column, std::int64_t{first + warp} * tile_piece_k,
        min(std::int64_t{first + count} * tile_piece_k, d.k), pipelines + warp * pipeline);
    if (owns_chunks)
      sum_own_chunks(count, of_tile, piece_sums, chunk_sums,
                     [&](int here) { sum_pieces(loop, warp, division.warps, here, piece_sums); });
    else
      sum_pieces(loop, warp, division.warps, count, piece_sums);
  } else if (owns_chunks) {
    sum_own_chunks(count, of_tile, piece_sums, chunk_sums, [](int) {});
  }
  if (division.ranks > 1) {
    cluster_barrier();
  } else {
    __syncthreads();
  }
  if (!owns_chunks) {
    sum_shared_chunks(division, rank * share, share, of_tile, piece_sums, chunk_sums);
    __syncthreads();
  }
  for (int at = static_cast<int>(threadIdx.x); at < share; at += static_cast<int>(blockDim.x)) {
    const int e = rank * share + at;
    const std::int64_t i = work_tile.row + e / S::bn;
    const std::int64_t j = work_tile.column + e % S::bn;
    if (i >= d.m || j >= d.n) continue;
    Out* const place = product_base(p.c, d.c, work_tile.product) + i * d.c.row_stride + j * d.c.column_stride;
    const Accumulator before = p.epilogue.reads_c ? p.epilogue.load_c(place) : Accumulator{};
    const Accumulator x = sum_of_chunks(p.epilogue, division.chunks(), before, [&](int chunk) {
      if (!owns_chunks) return chunk_sums[chunk * share + at];
      const int owner = chunk / division.chunks_of_rank();
      return in_cta(chunk_sums + e, owner)[(chunk - owner * division.chunks_of_rank()) * of_tile];
    });
    *place = narrow<Out>(p.epilogue.finish(x, i, j));
  }
  if (division.ranks > 1) leave_cluster();
}

struct SlicedKInstance {
  void (*kernel)(Parameters<float, float>, SlicedKDivision);
  int pipeline_bytes;  ///< of a warp
  int tile_bytes;
};

[[nodiscard]] inline int sliced_k_shared_bytes(const SlicedKInstance& instance, const SlicedKDivision& division) {
  const int pieces = std::min(division.pieces_of_rank, pieces_of_chunk);
  const int chunk_sums = division.owns_chunks() ? division.chunks_of_rank() * instance.tile_bytes
                                                : division.chunks() * instance.tile_bytes / division.ranks;
  return division.warps * instance.pipeline_bytes + pieces * instance.tile_bytes + chunk_sums;
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
