// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fix-up of elements that the slices could not hold: they are summed plainly from A and B by all warps of a CTA,
/// whichever of them have found them. A warp takes a piece of K at a time; the pieces depend on K alone and are added
/// in order, so an element has the same bits however many there are.
#pragma once

#include "cuda/kernels/sm90/epilogue.cuh"

namespace exactile::cuda::sm90 {

/// Of a CTA, in shared memory. `most`: as many elements as it has, so that there is room for all.
template <int most>
struct FixupList {
  static constexpr int room = 512;
  int count;               ///< zero at first
  unsigned element[most];  ///< row << 16 | column, from the CTA's first on
  float sums[room];        ///< of pieces

  __device__ void add(int row, int column) {
    const int at = atomicAdd(&count, 1);
    if (at < most) element[at] = static_cast<unsigned>(row) << 16 | static_cast<unsigned>(column);
  }
};

/// Of K, a warp's at a time: as much as is loaded at once, but no more pieces than 64.
[[nodiscard]] __device__ inline int piece_of(int k) {
  constexpr int least = 512, most_pieces = 64;
  return (max(k, 1) + most_pieces * least - 1) / (most_pieces * least) * least;
}

/// By all warps of a CTA, behind a barrier of theirs: `store(row, column, sum)` for each that is listed, by one thread.
template <int warps, int most, class Store>
__device__ inline void sum_fixup_list(FixupList<most>& list, const SplitPair& operands, int batch, int first_row,
                                      int first_column, const Store& store) {
  const int listed = min(list.count, most);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int k = operands.a.k;
  const int piece = piece_of(k);
  const int pieces = (k + piece - 1) / piece;
  const int at_once = FixupList<most>::room / pieces;
#pragma unroll 1
  for (int first = 0; first < listed; first += at_once) {
    const int elements = min(at_once, listed - first);
#pragma unroll 1
    for (int task = warp; task < elements * pieces; task += warps) {
      const unsigned at = list.element[first + task / pieces];
      const int from = task % pieces * piece;
      const float sum = warp_sum<16>(operands, batch, first_row + static_cast<int>(at >> 16),
                                     first_column + static_cast<int>(at & 0xffffu), from, min(from + piece, k));
      if (threadIdx.x % 32 == 0) list.sums[task] = sum;
    }
    __syncthreads();
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < elements; i += 32 * warps) {
      float sum = 0;
      for (int p = 0; p < pieces; ++p) sum += list.sums[i * pieces + p];
      const unsigned at = list.element[first + i];
      store(first_row + static_cast<int>(at >> 16), first_column + static_cast<int>(at & 0xffffu), sum);
    }
    __syncthreads();
  }
}

}  // namespace exactile::cuda::sm90
