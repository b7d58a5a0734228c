// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of few tiles: a warp sums a piece of a chunk of K (see summation_order.hpp) for a whole tile of C, so that
/// all pieces of a chunk are on their way at the same time, in a block. Each warp streams its terms through a ring of
/// its own; then the block adds the pieces in order. Blocks that share K are a cluster and read each other's sums of
/// chunks, or where there are too many of them, or no clusters, leave theirs to add_chunks().
#pragma once

#include "cuda/kernels/simt/ranks.cuh"
#include "cuda/kernels/simt/tile_kernel.cuh"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::simt {

/// How such a product is divided: blocks have so many warps.
struct PiecesDivision {
  Division division;
  int warps;
  bool in_clusters;  ///< splits of a tile are neighbouring blocks; otherwise their sums meet in memory

  [[nodiscard]] __host__ __device__ bool splits_apart() const { return division.splits > 1 && !in_clusters; }
};

inline constexpr int most_piece_warps = chunk_terms / tile_piece_terms;
inline constexpr std::int64_t most_chunks_of_block = 8;  ///< whose sums lie in shared memory

/// Elements of a warp's ring; the sums of its piece lie there afterwards.
template <class S, Walk walk_a, Walk walk_b>
inline constexpr int ring_elements = S::stages* Mainloop<S, walk_a, walk_b>::slot_elements > S::bm* S::bn
                                         ? S::stages* Mainloop<S, walk_a, walk_b>::slot_elements
                                         : S::bm* S::bn;

/// Leaves the sums of this warp's piece of `chunk` in its ring, [row][column].
template <class S, Walk walk_a, Walk walk_b>
__device__ inline void sum_piece(const Work<typename S::In, typename S::Out>& work, const Unit& unit,
                                 std::int64_t begin, typename S::Sum* ring) {
  using Sum = typename S::Sum;
  const std::int64_t end = min(begin + tile_piece_terms, work.d.k);
  auto loop = begin_terms<S, walk_a, walk_b>(work, unit.product, unit.row, unit.column, begin, end, ring);
  Sum sums[S::tm][S::tn] = {};
  loop.begin_chunk();
  loop.accumulate(sums, (static_cast<int>(end - begin) + S::bk - 1) / S::bk);
  isa::copy_async_wait<0>();
  __syncwarp();
  using StripA = typename Mainloop<S, walk_a, walk_b>::StripA;
  using StripB = typename Mainloop<S, walk_a, walk_b>::StripB;
  using Group = Pack<Sum, StripB::width>;
#pragma unroll
  for (int i = 0; i < S::tm; ++i)
#pragma unroll
    for (int g = 0; g < StripB::groups; ++g) {
      Group group;
#pragma unroll
      for (int e = 0; e < StripB::width; ++e) group.at[e] = sums[i][g * StripB::width + e];
      *reinterpret_cast<Group*>(ring + (loop.row + StripA::place(i)) * S::bn + loop.column +
                                StripB::place(g * StripB::width)) = group;
    }
}

/// The block's tile, and its chunks of K.
template <class S>
[[nodiscard]] __device__ inline Unit pieces_unit(const Division& division) {
  const std::uint32_t tile = blockIdx.x / division.splits;
  const std::uint32_t tiles = division.row_tiles * division.column_tiles;
  const std::uint32_t product = tile / tiles;
  const std::uint32_t in_product = tile - product * tiles;
  const std::int64_t begin = blockIdx.x % division.splits * division.chunks_per_split;
  return {product, static_cast<std::int64_t>(in_product / division.column_tiles) * S::bm,
          static_cast<std::int64_t>(in_product % division.column_tiles) * S::bn, begin,
          min(begin + division.chunks_per_split, division.chunks)};
}

template <class S, Walk walk_a, Walk walk_b>
__global__ void __launch_bounds__(32 * most_piece_warps, 1)
    pieces_kernel(const __grid_constant__ Work<typename S::In, typename S::Out> work,
                  const __grid_constant__ PiecesDivision pieces) {
  using Sum = typename S::Sum;
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int ring = ring_elements<S, walk_a, walk_b>;
  constexpr int of_tile = S::bm * S::bn;
  const GemmDescription& d = work.d;
  const Unit unit = pieces_unit<S>(work.division);
  auto* const rings = reinterpret_cast<Sum*>(shared);
  Sum* const chunk_sums = rings + pieces.warps * ring;  // [chunk][row][column]
  const int warp = static_cast<int>(threadIdx.x / 32);

  start_kernel_after();
  wait_for_kernel_before();
  for (std::int64_t chunk = unit.chunk_begin; chunk < unit.chunk_end; ++chunk) {
    const std::int64_t begin = chunk * chunk_terms + warp * tile_piece_terms;
    if (begin < d.k) sum_piece<S, walk_a, walk_b>(work, unit, begin, rings + warp * ring);
    __syncthreads();
    const auto terms = static_cast<int>(min(d.k - chunk * chunk_terms, std::int64_t{chunk_terms}));
    const int count = (terms + tile_piece_terms - 1) / tile_piece_terms;
    Sum* const to = chunk_sums + (chunk - unit.chunk_begin) * of_tile;
    for (int e = static_cast<int>(threadIdx.x); e < of_tile; e += static_cast<int>(blockDim.x)) {
      Sum sum{};
#pragma unroll 16
      for (int piece = 0; piece < count; ++piece) sum = add(sum, rings[piece * ring + e]);
      to[e] = sum;
    }
    __syncthreads();  // the rings are free
  }

  const bool apart = pieces.splits_apart();
  const int ranks = apart ? 1 : static_cast<int>(work.division.splits);
  if (ranks > 1) meet_cluster();
  const int rank = apart ? 0 : static_cast<int>(blockIdx.x % work.division.splits);
  for (int e = rank * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x); e < of_tile;
       e += ranks * static_cast<int>(blockDim.x)) {
    const std::int64_t i = unit.row + e / S::bn;
    const std::int64_t j = unit.column + e % S::bn;
    if (i >= d.m || j >= d.n) continue;
    if (apart) {
      leave_chunks(work, unit.product, unit.chunk_begin, static_cast<int>(unit.chunk_end - unit.chunk_begin), i, j,
                   chunk_sums + e, of_tile);
    } else {
      finish_ranks(work, unit.product, i, j, chunk_sums + e, of_tile, ranks);
    }
  }
  if (ranks > 1) meet_cluster();  // no block leaves while others read its sums
}

struct PiecesInstance {
  void (*kernel)(Work<float, float>, PiecesDivision);
  int ring_bytes;  ///< of a warp
  int tile_bytes;
};

[[nodiscard]] inline int pieces_shared_bytes(const PiecesInstance& instance, const PiecesDivision& pieces) {
  return pieces.warps * instance.ring_bytes + static_cast<int>(pieces.division.chunks_per_split) * instance.tile_bytes;
}

template <class S, Walk a, Walk b>
[[nodiscard]] constexpr PiecesInstance pieces_instance() {
  return {pieces_kernel<S, a, b>, static_cast<int>(sizeof(float)) * ring_elements<S, a, b>,
          static_cast<int>(sizeof(float)) * S::bm * S::bn};
}

/// The instance for operands that lie so; see instance_for() in product.cuh.
template <class S>
[[nodiscard]] constexpr PiecesInstance pieces_instance_for(Walk a, Walk b) {
  using enum Walk;
  if (a == any_strides || b == any_strides) return pieces_instance<S, any_strides, any_strides>();
  if (a == along_terms && b == along_terms) return pieces_instance<S, along_terms, along_terms>();
  if (a != along_rows && b != along_rows) {
    if (a == along_terms) return pieces_instance<S, along_terms, vectors>();
    return b == along_terms ? pieces_instance<S, vectors, along_terms>() : pieces_instance<S, vectors, vectors>();
  }
  if (a == along_terms) return pieces_instance<S, along_terms, along_rows>();
  return b == along_terms ? pieces_instance<S, along_rows, along_terms>()
                          : pieces_instance<S, along_rows, along_rows>();
}

}  // namespace exactile::cuda::simt
