// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stream-K: the last tiles of a product, divided along K among the blocks that a device runs at a time; see
/// stream_k.hpp. What one block leaves to the next are the totals (in C, see splitk_reduce.cuh) and, within a chunk,
/// the sums as far as they got; so all bits are those of tile_kernel.
#pragma once

#include "cuda/isa/opaque.cuh"
#include "cuda/kernels/simt/tile_kernel.cuh"

namespace exactile::cuda::simt {

/// What a block does at a time. All of it is the same for all threads, and the compiler sees that.
struct KSpan {
  std::int64_t product;
  std::int64_t row;     ///< first row of the tile
  std::int64_t column;  ///< first column
  std::int64_t begin;   ///< first k; above 0 the block before has summed those before
  std::int64_t end;     ///< behind the last one; before k the block behind goes on from there
};

[[nodiscard]] __device__ inline KSpan k_span_of(const Division& division, int index, int tile_rows, int tile_columns,
                                                std::int64_t k) {
  const StreamKTile span = division.stream_k.at(static_cast<int>(blockIdx.x), index);
  const WorkTile work_tile = work_tile_at(
      division, division.data_parallel_tiles + static_cast<std::uint32_t>(span.tile), tile_rows, tile_columns);
  const std::int64_t begin = std::int64_t{span.first_chunk} * stream_k_step;
  return {work_tile.product, work_tile.row, work_tile.column, begin,
          min(begin + std::int64_t{span.chunks} * stream_k_step, k)};
}

/// Words of 16 bytes that the sums of a tile take.
template <class S>
inline constexpr std::int64_t carry_words =
    std::int64_t{S::bm} * S::bn / AccumulatorWord<typename S::Accumulator>::count;

/// Where a block leaves this thread's sums.
template <class S>
[[nodiscard]] __device__ inline AccumulatorWord<typename S::Accumulator>* carry_of(
    const Parameters<typename S::In, typename S::Out>& p, std::int64_t block) {
  return p.carry + block * carry_words<S> + isa::opaque_thread();
}

/// A thread's sums on their way to a function or from it.
template <class S>
struct AccumulatorTile {
  typename S::Accumulator at[S::tm][S::tn];
};

/// What becomes of the sums up to k = `stop`. A function of its own, as everything outside of the main loop is here:
/// none of it then takes registers from the loop.
template <class S>
__device__ __noinline__ void end_chunk(const Parameters<typename S::In, typename S::Out>& p, const KSpan& span,
                                       std::int64_t stop, const AccumulatorTile<S>& sums) {
  if (stop % chunk_k != 0 && stop < p.d.k) {
    store_accumulators(sums.at, carry_of<S>(p, blockIdx.x), S::threads);
  } else {
    const int thread = isa::opaque_thread();
    const ThreadPlace at{span.row + first_row<S>(thread / 32, thread % 32),
                         span.column + first_column<S>(thread / 32, thread % 32)};
    add_chunk<S>(sums.at, p, span.product, (stop - 1) / chunk_k, at);
    if (stop == p.d.k) finish<S>(p, span.product, at);
  }
}

template <class S>
__device__ __noinline__ void carry_in(const Parameters<typename S::In, typename S::Out>& p, std::int64_t begin,
                                      AccumulatorTile<S>& sums) {
  wait_until_ready(p.carry_ready[blockIdx.x - 1]);
  if (begin % chunk_k != 0) {
    load_accumulators(sums.at, carry_of<S>(p, std::int64_t{blockIdx.x} - 1), S::threads);
  } else {
    sums = {};
  }
}

template <class S, AccessPattern walk_a, AccessPattern walk_b>
__device__ inline void accumulate_span(const Parameters<typename S::In, typename S::Out>& p, const KSpan& span,
                                       typename S::Accumulator* shared) {
  static_assert(stream_k_step % S::bk == 0 && chunk_k % stream_k_step == 0);
  static_assert(S::piece_k == chunk_k);  // what is carried over has no unfinished piece
  auto loop = begin_mainloop<S, walk_a, walk_b>(p, span.product, span.row, span.column, span.begin, span.end, shared);
#pragma unroll 1
  for (std::int64_t term = span.begin; term < span.end;) {
    AccumulatorTile<S> sums = {};
    if (term > 0 && term == span.begin) {
      AccumulatorTile<S> taken;
      carry_in<S>(p, term, taken);
      sums = taken;
    }
    const std::int64_t stop = min((term / chunk_k + 1) * chunk_k, span.end);
    loop.begin_chunk();
    loop.accumulate(sums.at, (static_cast<int>(stop - term) + S::bk - 1) / S::bk);
    const AccumulatorTile<S> summed = sums;
    end_chunk<S>(p, span, stop, summed);
    term = stop;
  }
}

template <class S, AccessPattern walk_a, AccessPattern walk_b>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    stream_k_kernel(const __grid_constant__ Parameters<typename S::In, typename S::Out> p) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int count = p.division.stream_k.count(static_cast<int>(blockIdx.x));
  for (int index = 0; index < count; ++index) {
    const KSpan span = k_span_of(p.division, index, S::bm, S::bn, p.d.k);
    accumulate_span<S, walk_a, walk_b>(p, span, reinterpret_cast<typename S::Accumulator*>(shared));
    // Copies still under way, of zeros behind the last k, must not meet those of the next span.
    if constexpr (copies_async<typename S::In>) isa::copy_async_wait<0>();
    __syncthreads();
    if (threadIdx.x == 0 && span.end < p.d.k) signal_ready(p.carry_ready[blockIdx.x]);
  }
}

}  // namespace exactile::cuda::simt
