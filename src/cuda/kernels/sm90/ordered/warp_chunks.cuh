// SPDX-License-Identifier: Apache-2.0
/// \file
/// A warp's part of a product: chunk after chunk of K, fetched ahead, split and multiplied.
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/isa/tma.cuh"
#include "cuda/kernels/sm90/ordered/column_scales.cuh"

namespace exactile::cuda::sm90::ordered {

/// Which chunks of K a warp takes: of each round some of its CTA's.
struct Turns {
  int cta;  ///< the first of its CTA's round
  int own;  ///< of them

  __device__ Turns(const Parameters& p, const Place& place)
      : cta(place.rank * p.round_chunks), own(static_cast<int>(threadIdx.x) / 32) {
    if (own >= p.round_chunks) cta = p.chunks;
  }
  [[nodiscard]] __device__ int chunk() const { return cta + own; }
  __device__ void next(const Parameters& p, const Place& place) {
    own += warps;
    if (own < p.round_chunks) return;
    own = static_cast<int>(threadIdx.x) / 32;
    cta += place.ranks * p.round_chunks;
  }
};

/// A warp's room in shared memory: chunks of W and of the other operand are fetched while those before are multiplied.
template <int rows, int ctas>
class WarpChunks {
 public:
  __device__ WarpChunks(std::byte* dynamic, Shared& shared, const Parameters& p, const Place& place)
      : p_(p), place_(place), wide_turns_(p, place), few_turns_(p, place) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    wide_ = dynamic + warp * depth * wide_bytes;
    few = dynamic + warps * depth * wide_bytes + warp * few_bytes;
    wide_full_ = shared.wide_full() + warp;
    few_full_ = shared.few_full() + warp;
  }
  [[nodiscard]] __device__ const std::byte* wide() const { return wide_ + stage_ * wide_bytes; }

  /// By TMA or, where that cannot, an element at a time: so many blocks of 32 terms from k on, into the oldest place.
  template <int blocks>
  __device__ void fetch_blocks(int k, int stage) const {
    __syncwarp();
    if (p_.reading == Reading::scattered) {
      copy_wide(k, stage);
    } else if (threadIdx.x % 32 == 0) {
      const int batch = p_.wide.batches == 1 ? 0 : place_.batch;
      const bool along = p_.reading == Reading::along;
      std::uint64_t* const full = wide_full_ + stage * warps;
      isa::mbarrier_arrive_expect(full, blocks * wide_block_bytes);
#pragma unroll
      for (int block = 0; block < blocks; ++block, k += block_k)
        isa::tma_load(wide_ + stage * wide_bytes + block * wide_block_bytes, &p_.wide_map, along ? k : place_.column,
                      along ? place_.column : k, batch, full);
    }
  }
  /// From the beginning, the first chunks of W.
  __device__ void begin() {
    wide_turns_ = few_turns_ = Turns(p_, place_);
    stage_ = 0;
#pragma unroll
    for (int stage = 0; stage < depth; ++stage) fetch_wide(stage);
  }
  /// In the place of a chunk that has been read.
  __device__ void fetch_wide() {
    fetch_wide(stage_);
    stage_ = (stage_ + 1) % depth;
  }
  __device__ void fetch_few() {
    const int chunk = few_turns_.chunk();
    few_turns_.next(p_, place_);
    if (chunk >= p_.chunks) return;
    __syncwarp();
    if (threadIdx.x % 32 != 0) return;
    constexpr int block_halves = row_bytes / 2;
    isa::mbarrier_arrive_expect(few_full_, few_bytes);
#pragma unroll
    for (int block = 0; block < Fp16x3::chunk_stages; ++block)
      isa::tma_load(few + block * rows * row_bytes, &p_.few_map, (chunk * Fp16x3::chunk_stages + block) * block_halves,
                    place_.row, p_.few.batches == 1 ? 0 : place_.batch, few_full_);
  }
  template <int later = wide_depth(rows, ctas) - 1>
  __device__ void wait_for_wide() {
    if (p_.reading == Reading::scattered) {
      isa::copy_async_wait<later>();
      __syncwarp();
    } else {
      isa::mbarrier_wait(wide_full_ + stage_ * warps, wide_parity_ >> stage_ & 1);
      wide_parity_ ^= 1u << stage_;
    }
  }
  __device__ void wait_for_few() {
    isa::mbarrier_wait(few_full_, few_parity_);
    few_parity_ ^= 1;
  }

  std::byte* few;

 private:
  static constexpr int depth = wide_depth(rows, ctas);
  static constexpr int few_bytes = warp_bytes(rows, ctas) - depth * wide_bytes;

  __device__ void fetch_wide(int stage) {
    if (const int chunk = wide_turns_.chunk(); chunk < p_.chunks) {
      fetch_blocks<Fp16x3::chunk_stages>(chunk * chunk_terms, stage);
    } else {
      isa::copy_async_commit();  // wait_for_wide() counts
    }
    wide_turns_.next(p_, place_);
  }

  /// A lane has one column.
  __device__ void copy_wide(int k, int stage) const {
    const SplitOperand& o = p_.wide;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int terms = place_.column + lane < o.rows ? o.k - k : 0;
    const float* from = product_base(o.data, o.layout, place_.batch) +
                        std::int64_t{place_.column + lane} * o.layout.row_stride + k * o.layout.column_stride;
#pragma unroll 4
    for (int term = 0; term < chunk_terms; ++term, from += o.layout.column_stride)
      isa::copy_async<4>(wide_ + stage * wide_bytes + swizzled_offset(term, lane), from, term < terms ? 4 : 0);
    isa::copy_async_commit();
  }

  const Parameters& p_;
  const Place& place_;
  Turns wide_turns_;
  Turns few_turns_;
  std::byte* wide_;
  int stage_ = 0;  ///< of W, whose chunk is the next one
  std::uint64_t* wide_full_;
  std::uint64_t* few_full_;
  std::uint32_t wide_parity_ = 0;
  std::uint32_t few_parity_ = 0;
};

/// By a CTA, into shared.guess, which is zero: scales of its columns, by the sample, of which each warp has a block.
template <int rows, int ctas>
__device__ inline void guess_scales(Shared& shared, const Parameters& p, WarpChunks<rows, ctas>& chunks) {
  static_assert(ScaleSample::most_blocks <= warps);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int k = static_cast<int>(threadIdx.x) / 32 * p.wide.sample.step() * block_k;
  if (k >= p.wide.k) return;
  chunks.template fetch_blocks<1>(k, 0);
  chunks.template wait_for_wide<0>();
  const bool along = p.reading == Reading::along;
  unsigned most = 0;
#pragma unroll 8
  for (int i = 0; i < block_k; ++i) {
    const std::byte* const at = chunks.wide() + (along ? swizzled_offset(lane, i) : swizzled_offset(i, lane));
    most = max(most, split::finite_bits(*reinterpret_cast<const float*>(at)));
  }
  atomicMax(&shared.guess[lane], p.wide.sample.weighed(most, 0));
}

/// A chunk's sums: of a warp's columns, by groups of rows.
template <int rows>
using ChunkSums = float[rows / group_rows][tile_columns / mma_columns][4];

/// By a warp: a chunk of its columns as slices. What is not ordinary is rare, and split by code that is there once.
__device__ inline void split_chunk(TileSlices& to, const std::byte* chunk, const WideReader& reader, Shared& shared,
                                   int columns, int k) {
  const int column = static_cast<int>(threadIdx.x) % 32 / 4 * lane_columns;
  const LaneScales scales[halves] = {LaneScales(&shared.guess[column]),
                                     LaneScales(&shared.guess[mma_columns + column])};
  const unsigned others = reader.along ? split_ordinary_chunk<true>(to, chunk, reader, scales)
                                       : split_ordinary_chunk<false>(to, chunk, reader, scales);
  const int left_columns = columns - column;  // behind them there are zeros
  const unsigned there =
      (left_columns > 0 ? (1u << steps) - 1 : 0) | (left_columns > mma_columns ? ((1u << steps) - 1) << steps : 0);
#pragma unroll 1
  for (unsigned left = __reduce_or_sync(~0u, others & there); left != 0; left &= left - 1) {
    const int which = __ffs(static_cast<int>(left)) - 1;
    if ((others & there & (1u << which)) == 0) continue;
    const int half = which / steps;
    Elements x;
    reader.along ? reader.read<true>(x, chunk, half, which % steps) : reader.read<false>(x, chunk, half, which % steps);
    const int first = half * mma_columns + column;
    const Found found{&shared.most[first], &shared.underflows[first]};
    StepSlices slices;
#pragma unroll
    for (int v = 0; v < lane_columns; ++v) {
      if (!split_carefully(slices, x, v, k, LaneScales(&shared.guess[first]), found)) continue;
#pragma unroll
      for (int i = 0; i < halves * steps; ++i)
        if (i == which)
#pragma unroll
          for (int part = 0; part < 2 * Fp16x3::slices; ++part)
            to[i / steps][part / 2][i % steps][v][part % 2] = slices[part / 2][v][part % 2];
    }
  }
}

/// By a warp: sums of a chunk, the small products first, as sm90::multiply_chunk() does. Some groups of rows by turns:
/// each sum waits for the one before.
template <bool few_is_a, int rows>
__device__ inline void multiply_chunk(ChunkSums<rows>& d, const std::byte* few, const TileSlices& wide) {
  constexpr int turns = rows > 16 ? 2 : 1;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::byte* const line = few + lane % 8 * row_bytes;
#pragma unroll
  for (int first = 0; first < rows / group_rows; first += turns) {
    std::uint32_t slices[turns][Fp16x3::slices][steps][2];
#pragma unroll
    for (int g = 0; g < turns; ++g)
#pragma unroll
      for (int block = 0; block < Fp16x3::chunk_stages; ++block)
#pragma unroll
        for (int slice = 0; slice < Fp16x3::slices; ++slice) {
          std::uint32_t two_steps[4];
          isa::load_matrices(two_steps, line + (block * rows + (first + g) * group_rows) * row_bytes +
                                            ((slice * 4 + lane / 8) ^ lane % 8) * 16);
#pragma unroll
          for (int i = 0; i < 4; ++i) slices[g][slice][2 * block + i / 2][i % 2] = two_steps[i];
        }
#pragma unroll
    for (int g = 0; g < turns; ++g)
#pragma unroll
      for (int half = 0; half < tile_columns / mma_columns; ++half)
#pragma unroll
        for (int i = 0; i < 4; ++i) d[first + g][half][i] = 0;
#pragma unroll
    for (int product = 0; product < Fp16x3::products; ++product) {
      const SlicePair pair = Fp16x3::product(product);
      const int of_wide = few_is_a ? pair.b : pair.a;
      const int of_few = few_is_a ? pair.a : pair.b;
#pragma unroll
      for (int s = 0; s < steps; ++s)
#pragma unroll
        for (int g = 0; g < turns; ++g)
#pragma unroll
          for (int half = 0; half < tile_columns / mma_columns; ++half) {
            const auto& w = wide[half][of_wide][s];
            isa::mma<__half>(d[first + g][half], {w[0][0], w[1][0], w[0][1], w[1][1]}, slices[g][of_few][s]);
          }
    }
  }
}

}  // namespace exactile::cuda::sm90::ordered
