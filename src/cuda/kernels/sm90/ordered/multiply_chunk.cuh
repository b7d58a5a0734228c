// SPDX-License-Identifier: Apache-2.0
/// \file
/// A warp's part of a round: the chunk of K that it shares with the other columns' warps, times its columns of W.
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/sm90/ordered/column_scales.cuh"

namespace exactile::cuda::sm90::ordered {

/// The warps that take the same chunk of K.
struct ChunkWarps {
  static constexpr int count = column_warps * 32;  ///< of their threads
  int chunk;                                       ///< of the CTA's round
  int thread;

  __device__ ChunkWarps()
      : chunk(static_cast<int>(threadIdx.x) / count), thread(static_cast<int>(threadIdx.x) % count) {}
  __device__ void sync() const { isa::named_barrier(1 + chunk, count); }

  /// Starts the copies of the rows' slices of a round's chunk.
  __device__ void fetch_few(const Stages& stages, const Parameters& p, const Place& place, int round) const {
    constexpr int pieces = chunk_bytes / 16;
    const SplitOperand& o = p.few;
    const int row_bytes = blocks_of<Fp16x3>(o.k) * block_bytes<Fp16x3>;
    const int piece = thread % pieces * 16;
    const std::byte* const from = static_cast<const std::byte*>(o.slices) +
                                  (std::int64_t{o.batches == 1 ? 0 : place.batch} * o.rows + place.row) * row_bytes +
                                  (place.first_chunk(round) + chunk) * chunk_bytes + piece;
    std::byte* const to = stages.few_at(round, chunk) + piece;
    const int rows = place.first_chunk(round) + chunk < p.chunks ? min(p.rows, o.rows - place.row) : 0;
#pragma unroll 2
    for (int row = thread / pieces; row < p.rows; row += count / pieces)
      isa::copy_async<16>(to + row * few_pitch, row < rows ? from + std::int64_t{row} * row_bytes : o.slices,
                          row < rows ? 16 : 0);
    isa::copy_async_commit();
  }
};

/// Where a warp's sums of a chunk go: to the CTAs that add them.
struct ChunkSums {
  const Stages& stages;
  std::uint64_t* full;
  int turn;
  int chunk;  ///< of the cluster's round
  int column;
  int ranks;

  /// Two neighbouring columns.
  __device__ void store(int row, float first, float second) const {
    const int e = row * tile_columns + column;
    float* const to = stages.sum_at(turn, chunk, e & (stages.share - 1));
    const float2 pair = make_float2(first, second);
    if (ranks > 1) {
      const int owner = e >> stages.share_log;
      isa::store_async(isa::shared_address_in(to, owner), pair, isa::shared_address_in(full, owner));
    } else {
      *reinterpret_cast<float2*>(to) = pair;
    }
  }
};

/// By a warp: the sums of a chunk, of so many groups of rows and its columns, the small products first, as
/// sm90::multiply_chunk() does. Groups by turns: each sum waits for the one before.
template <bool few_is_a, int groups>
__device__ inline void multiply_groups(const ChunkSums& sums, const std::byte* few, int first, const WideSlices& wide) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::uint32_t slices[groups][Fp16x3::slices][steps][2];
  float d[groups][4] = {};
#pragma unroll
  for (int product = 0; product < Fp16x3::products; ++product) {
    const SlicePair pair = Fp16x3::product(product);
    const int slice = few_is_a ? pair.a : pair.b;
    const auto& of_wide = wide[few_is_a ? pair.b : pair.a];
    if (product < Fp16x3::slices)
#pragma unroll
      for (int i = 0; i < groups * Fp16x3::chunk_stages; ++i) {
        const int g = i % groups;
        const int block = i / groups;
        std::uint32_t two_steps[4];
        isa::load_matrices(two_steps, few + (first + g * group_rows + lane % 8) * few_pitch +
                                          block * block_bytes<Fp16x3> + Fp16x3::slice_offset(slice, 0) + lane / 8 * 16);
#pragma unroll
        for (int j = 0; j < 4; ++j) slices[g][slice][2 * block + j / 2][j % 2] = two_steps[j];
      }
#pragma unroll
    for (int s = 0; s < steps; ++s)
#pragma unroll
      for (int g = 0; g < groups; ++g)
        isa::mma<__half>(d[g], {of_wide[s][0][0], of_wide[s][1][0], of_wide[s][0][1], of_wide[s][1][1]},
                         slices[g][slice][s]);
  }
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    const int row = first + g * group_rows + lane % 4 * 2;
    sums.store(row, d[g][0], d[g][2]);
    sums.store(row + 1, d[g][1], d[g][3]);
  }
}

template <bool few_is_a, int most_groups>
__device__ inline void multiply_chunk(const ChunkSums& sums, const std::byte* few, int rows, const WideSlices& wide) {
  if (rows >= most_groups * group_rows) {
#pragma unroll 1
    for (int first = 0; first < rows; first += most_groups * group_rows)
      multiply_groups<few_is_a, most_groups>(sums, few, first, wide);
  } else if constexpr (most_groups > 1) {
    multiply_chunk<few_is_a, most_groups / 2>(sums, few, rows, wide);
  }
}

}  // namespace exactile::cuda::sm90::ordered
