// SPDX-License-Identifier: Apache-2.0
/// \file
/// The last tiles of a product, shared out by terms of K among the blocks that a device runs at a time; see
/// tile_shares.hpp. What one block leaves to the next are the totals (in C, see fold.cuh) and, within a chunk, the sums
/// as far as they got; so all bits are those of tile_kernel.
#pragma once

#include "cuda/isa/here.cuh"
#include "cuda/kernels/simt/tile_kernel.cuh"

namespace exactile::cuda::simt {

/// What a block does at a time. All of it is the same for all threads, and the compiler sees that.
struct Share {
  std::int64_t product;
  std::int64_t row;     ///< first row of the tile
  std::int64_t column;  ///< first column
  std::int64_t begin;   ///< first term; above 0 the block before has summed those before
  std::int64_t end;     ///< behind the last one; before k the block behind goes on from there
};

[[nodiscard]] __device__ inline Share share_of(const Division& division, int index, int tile_rows, int tile_columns,
                                               std::int64_t k) {
  const TileShare share = division.shares.at(static_cast<int>(blockIdx.x), index);
  const Unit unit = unit_of(division, division.whole + static_cast<std::uint32_t>(share.tile), tile_rows, tile_columns);
  const std::int64_t begin = std::int64_t{share.first_chunk} * share_terms;
  return {unit.product, unit.row, unit.column, begin, min(begin + std::int64_t{share.chunks} * share_terms, k)};
}

/// Words of 16 bytes that the sums of a tile take.
template <class S>
inline constexpr std::int64_t carried_words = std::int64_t{S::bm} * S::bn / SumWord<typename S::Sum>::count;

/// Where a block leaves this thread's sums.
template <class S>
[[nodiscard]] __device__ inline SumWord<typename S::Sum>* carried_by(const Work<typename S::In, typename S::Out>& work,
                                                                     std::int64_t block) {
  return work.carried + block * carried_words<S> + isa::thread_here();
}

/// A thread's sums on their way to a function or from it.
template <class S>
struct Held {
  typename S::Sum at[S::tm][S::tn];
};

/// What becomes of the sums of terms up to `stop`. A function of its own, as everything outside of the main loop is
/// here: none of it then takes registers from the loop.
template <class S>
__device__ __noinline__ void end_terms(const Work<typename S::In, typename S::Out>& work, const Share& share,
                                       std::int64_t stop, const Held<S>& sums) {
  if (stop % chunk_terms != 0 && stop < work.d.k) {
    write_sums(sums.at, carried_by<S>(work, blockIdx.x), S::threads);
  } else {
    const int thread = isa::thread_here();
    const ThreadPlace at{share.row + first_row<S>(thread / 32, thread % 32),
                         share.column + first_column<S>(thread / 32, thread % 32)};
    add_chunk<S>(sums.at, work, share.product, (stop - 1) / chunk_terms, at);
    if (stop == work.d.k) finish<S>(work, share.product, at);
  }
}

template <class S>
__device__ __noinline__ void take_over(const Work<typename S::In, typename S::Out>& work, std::int64_t begin,
                                       Held<S>& sums) {
  await(work.ready[blockIdx.x - 1]);
  if (begin % chunk_terms != 0) {
    read_sums(sums.at, carried_by<S>(work, std::int64_t{blockIdx.x} - 1), S::threads);
  } else {
    sums = {};
  }
}

template <class S, Walk walk_a, Walk walk_b>
__device__ inline void sum_share(const Work<typename S::In, typename S::Out>& work, const Share& share,
                                 typename S::Sum* shared) {
  static_assert(share_terms % S::bk == 0 && chunk_terms % share_terms == 0);
  static_assert(S::piece_terms == chunk_terms);  // what is carried over has no unfinished piece
  auto loop =
      begin_terms<S, walk_a, walk_b>(work, share.product, share.row, share.column, share.begin, share.end, shared);
#pragma unroll 1
  for (std::int64_t term = share.begin; term < share.end;) {
    Held<S> sums = {};
    if (term > 0 && term == share.begin) {
      Held<S> taken;
      take_over<S>(work, term, taken);
      sums = taken;
    }
    const std::int64_t stop = min((term / chunk_terms + 1) * chunk_terms, share.end);
    loop.begin_chunk();
    loop.accumulate(sums.at, (static_cast<int>(stop - term) + S::bk - 1) / S::bk);
    const Held<S> summed = sums;
    end_terms<S>(work, share, stop, summed);
    term = stop;
  }
}

template <class S, Walk walk_a, Walk walk_b>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    share_kernel(const __grid_constant__ Work<typename S::In, typename S::Out> work) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int count = work.division.shares.count(static_cast<int>(blockIdx.x));
  for (int index = 0; index < count; ++index) {
    const Share share = share_of(work.division, index, S::bm, S::bn, work.d.k);
    sum_share<S, walk_a, walk_b>(work, share, reinterpret_cast<typename S::Sum*>(shared));
    // Copies still under way, of zeros behind the last term, must not meet those of the next share.
    if constexpr (copies_async<typename S::In>) isa::copy_async_wait<0>();
    __syncthreads();
    if (threadIdx.x == 0 && share.end < work.d.k) announce(work.ready[blockIdx.x]);
  }
}

}  // namespace exactile::cuda::simt
