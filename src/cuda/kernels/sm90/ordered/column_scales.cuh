// SPDX-License-Identifier: Apache-2.0
/// \file
/// A CTA's place, its shared memory, and the scales of its columns of W: by a sample, and as they are found to be.
#pragma once

#include "cuda/isa/cluster.cuh"
#include "cuda/kernels/sm90/fixup_listed.cuh"
#include "cuda/kernels/sm90/ordered/wide_chunk.cuh"

namespace exactile::cuda::sm90::ordered {

inline constexpr int threads = split::threads;
inline constexpr int tile_columns = 32;  ///< of W
inline constexpr int column_warps = tile_columns / warp_columns;
inline constexpr int chunks_at_once = threads / 32 / column_warps;
inline constexpr int most_rows = 32;  ///< of a CTA, of the operand that is split ahead
inline constexpr int group_rows = 8;  ///< that an mma takes
inline constexpr int most_each = most_rows * tile_columns / threads;

struct Parameters {
  SplitOperand few;   ///< split ahead
  SplitOperand wide;  ///< without slices
  int rows;           ///< of a CTA: 8, 16 or 32
  int rows_log;
  int row_blocks;
  int groups;  ///< of columns
  int chunks;  ///< of K
  float underflow_scale;
  float most_element_error;
  float underflow_scale_again;  ///< of Bf16x6
  Output out;
};

/// In shared memory the rows of a chunk's slices, and of its sums, are shifted against one another for the banks' sake.
inline constexpr int chunk_bytes = Fp16x3::chunk_stages * block_bytes<Fp16x3>;
inline constexpr int few_pitch = chunk_bytes + 16;
inline constexpr int sums_pitch = tile_columns + 8;

/// Two of each: one is filled while the other is read.
struct Stages {
  std::byte* few;
  float* sums;
  int rows;

  __device__ Stages(std::byte* dynamic, int rows_of_cta)
      : few(dynamic),
        sums(reinterpret_cast<float*>(dynamic + 2 * chunks_at_once * rows_of_cta * few_pitch)),
        rows(rows_of_cta) {}
  [[nodiscard]] __device__ std::byte* few_at(int round, int chunk) const {
    return few + (round % 2 * chunks_at_once + chunk) * rows * few_pitch;
  }
  [[nodiscard]] __device__ float* sums_at(int round, int chunk) const {
    return sums + (round % 2 * chunks_at_once + chunk) * rows * sums_pitch;
  }
};
[[nodiscard]] inline int stage_bytes(int rows) {
  return std::max(2 * chunks_at_once * rows * (few_pitch + sums_pitch * 4), int{sizeof(FixupShared<Bf16x6>)});
}

struct Shared {
  unsigned guess[tile_columns];       ///< max_bits by the sample, or true ones
  unsigned most[tile_columns];        ///< that this CTA has found
  unsigned underflows[tile_columns];  ///< likewise
  PackedScale scale[tile_columns];
  int has_misled;
  int listed;
  unsigned short list[most_rows * tile_columns];  ///< row * 32 + column, to be fixed up
};

/// Of a CTA.
struct Place {
  int rank;  ///< in its cluster, of `ranks`
  int ranks;
  int batch;
  int row;
  int column;

  __device__ explicit Place(const Parameters& p) : rank(static_cast<int>(isa::cluster_rank())) {
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(ranks));
    const int tile = static_cast<int>(blockIdx.x) / ranks;
    row = tile % p.row_blocks * p.rows;
    column = tile / p.row_blocks % p.groups * tile_columns;
    batch = tile / p.row_blocks / p.groups;
  }
  [[nodiscard]] __device__ int first_chunk(int round) const { return (round * ranks + rank) * chunks_at_once; }
  __device__ void arrive() const {
    if (ranks > 1) isa::cluster_arrive();
  }
  /// All threads of the cluster have arrived.
  __device__ void wait() const {
    if (ranks > 1) isa::cluster_wait();
    __syncthreads();
  }
};

/// By a CTA, into shared.guess, which is zero: scales of its columns, by the sample.
template <Reading reading>
__device__ inline void guess_scales(Shared& shared, const Parameters& p, const Place& place) {
  const SplitOperand& o = p.wide;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float* const base = product_base(o.data, o.layout, place.batch);
  const int step = o.sample.step() * block_k;
  const auto at = [&](int column, int k) {
    const std::int64_t place_of_column = min(place.column + column, o.rows - 1) * o.layout.row_stride;
    const float element = __ldg(base + place_of_column + min(k, o.k - 1) * o.layout.column_stride);
    return k < o.k ? split::finite_bits(element) : 0u;
  };
  if constexpr (reading == Reading::along) {
    constexpr int each = tile_columns * 32 / threads;
    unsigned most[each] = {};
#pragma unroll
    for (int block = 0; block < ScaleSample::most_blocks; ++block)
#pragma unroll
      for (int i = 0; i < each; ++i) most[i] = max(most[i], at(warp * each + i, block * step + lane));
#pragma unroll
    for (int i = 0; i < each; ++i) {
      most[i] = __reduce_max_sync(~0u, most[i]);
      if (lane == 0) shared.guess[warp * each + i] = o.sample.weighed(most[i], 0);
    }
  } else {
    unsigned most = 0;
#pragma unroll
    for (int block = 0; block < ScaleSample::most_blocks; ++block)
#pragma unroll
      for (int k = 0; k < block_k; k += threads / 32) most = max(most, at(lane, block * step + k + warp));
    atomicMax(&shared.guess[lane], o.sample.weighed(most, 0));
  }
}

/// By a CTA, when all of the cluster have found what there is: the columns' scales. Whether the sample has misled is
/// the same for all CTAs of the cluster.
__device__ inline bool has_misled(Shared& shared, const Parameters& p, const Place& place) {
  if (threadIdx.x < tile_columns) {
    const int column = static_cast<int>(threadIdx.x);
    const unsigned guess = shared.guess[column];
    unsigned most = guess;
    unsigned underflows = 0;
    for (int rank = 0; rank < place.ranks; ++rank) {
      most = max(most, *isa::of_cta(&shared.most[column], rank));
      underflows += *isa::of_cta(&shared.underflows[column], rank);
    }
    shared.guess[column] = most;
    shared.scale[column] = packed_scale<Fp16x3>(most, underflows, p.underflow_scale);
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
