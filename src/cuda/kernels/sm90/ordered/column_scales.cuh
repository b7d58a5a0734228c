// SPDX-License-Identifier: Apache-2.0
/// \file
/// A CTA's place, its shared memory, and the scales of its columns of W as they are found to be.
#pragma once

#include "cuda/isa/cluster.cuh"
#include "cuda/kernels/sm90/fixup_listed.cuh"
#include "cuda/kernels/sm90/ordered/wide_chunk.cuh"

namespace exactile::cuda::sm90::ordered {

inline constexpr int threads = split::threads;
inline constexpr int warps = threads / 32;
inline constexpr int group_rows = 8;  ///< that an mma takes, of the operand that is split ahead
inline constexpr int most_rows = 64;  ///< of a CTA

/// A warp has room for two chunks of W where there is enough. `ctas`: that share an SM.
[[nodiscard]] __host__ __device__ constexpr int wide_depth(int rows, int ctas) {
  return rows <= 16 && ctas == 1 ? 2 : 1;
}

inline constexpr int most_depth = 2;
/// By which a CTA that is alone adds the sums of a chunk.
[[nodiscard]] __host__ __device__ constexpr int turn_parts(int rows) { return rows > 16 ? rows / 16 : 1; }

struct Parameters {
  SplitOperand few;   ///< split ahead
  SplitOperand wide;  ///< without slices
  CUtensorMap few_map;
  CUtensorMap wide_map;
  Reading reading;
  bool few_is_a;
  int row_blocks;
  int groups;        ///< of columns
  int chunks;        ///< of K
  int round_chunks;  ///< of a CTA, in one round
  float underflow_scale;
  float most_element_error;
  float underflow_scale_again;  ///< of Bf16x6
  Output out;
};

/// A CTA's shared memory: each warp has room for a chunk of W and one of the other operand, by blocks of 32 terms.
/// Behind them lie sums: of all chunks of the cluster's round, of the CTA's share of the tile; where a CTA is alone, of
/// the tile.
inline constexpr int sums_pitch = tile_columns + 4;  ///< where a CTA is alone, for the banks' sake
[[nodiscard]] __host__ __device__ constexpr int warp_bytes(int rows, int ctas) {
  return wide_depth(rows, ctas) * wide_bytes + rows * Fp16x3::chunk_stages * row_bytes;
}
[[nodiscard]] __host__ __device__ constexpr int sums_bytes(int rows, int ranks, int round_chunks) {
  return rows * 4 * (ranks == 1 ? sums_pitch : round_chunks * tile_columns);
}
/// What is left for sums.
[[nodiscard]] constexpr int most_sums_bytes(int rows, int ctas) {
  constexpr int of_sm = 228 * 1024, reserved = 1024, of_shared = 1024;
  return of_sm / ctas - reserved - of_shared - warps * warp_bytes(rows, ctas);
}

struct Shared {
  static constexpr int barriers_of_warp = most_depth + 1 + turn_parts(most_rows);
  unsigned guess[tile_columns];              ///< max_bits by the sample, or true ones
  unsigned most[tile_columns];               ///< that this CTA has found
  unsigned underflows[tile_columns];         ///< likewise
  unsigned underflows_of_all[tile_columns];  ///< that the CTAs of the cluster have found
  std::uint64_t barriers[barriers_of_warp][warps];
  int has_misled;
  int listed;

  __device__ std::uint64_t* wide_full() { return barriers[0]; }  ///< chunks of W are there
  __device__ std::uint64_t* few_full() { return barriers[most_depth]; }
  __device__ std::uint64_t* turn() { return barriers[most_depth + 1]; }  ///< to add parts of a chunk's sums
};
static_assert(sizeof(Shared) <= 1024, "most_sums_bytes() leaves so many for it");
/// row * 32 + column of elements to be fixed up, behind what fixes them up.
[[nodiscard]] __device__ inline unsigned short* list_in(std::byte* dynamic) {
  return reinterpret_cast<unsigned short*>(dynamic + sizeof(FixupShared<Bf16x6>));
}

/// Of a CTA.
struct Place {
  int rank;  ///< in its cluster, of `ranks`
  int ranks;
  int batch;
  int row;
  int column;

  __device__ Place(const Parameters& p, int rows) : rank(static_cast<int>(isa::cluster_rank())) {
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(ranks));
    const int tile = static_cast<int>(blockIdx.x) / ranks;
    row = tile % p.row_blocks * rows;
    column = tile / p.row_blocks % p.groups * tile_columns;
    batch = tile / p.row_blocks / p.groups;
  }
  __device__ void arrive() const {
    __syncwarp();
    if (ranks > 1) isa::cluster_arrive();
  }
  /// All threads of the cluster have arrived.
  __device__ void wait() const { ranks > 1 ? isa::cluster_wait() : __syncthreads(); }
};

/// By a CTA, when all of the cluster have found what there is: the columns' scales. Whether the sample has misled is
/// the same for all CTAs of the cluster.
__device__ inline bool has_misled(Shared& shared, const Parameters& p, const Place& place) {
  const int column = static_cast<int>(threadIdx.x) % tile_columns;
  const unsigned guess = shared.guess[column];
  __syncthreads();
  for (int rank = static_cast<int>(threadIdx.x) / tile_columns; rank < place.ranks; rank += threads / tile_columns) {
    atomicMax(&shared.guess[column], *isa::of_cta(&shared.most[column], rank));
    atomicAdd(&shared.underflows_of_all[column], *isa::of_cta(&shared.underflows[column], rank));
  }
  __syncthreads();
  if (threadIdx.x < tile_columns) {
    const unsigned most = shared.guess[column];
    const bool is_there = place.column + column < p.wide.rows;
    const bool misled = __any_sync(~0u, is_there && scale_exponent<Fp16x3>(most) != scale_exponent<Fp16x3>(guess));
    if (column == 0) shared.has_misled = misled ? 1 : 0;
    // Row blocks of the same columns write the same.
    if (is_there) scales_of(p.wide, place.batch).max_bits[place.column + column] = most;
  }
  place.arrive();
  place.wait();  // nobody reads `most` and `underflows` any longer
  return shared.has_misled != 0;
}

}  // namespace exactile::cuda::sm90::ordered
