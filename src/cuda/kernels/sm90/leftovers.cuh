// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which elements of C one kernel leaves to the next.
#pragma once

#include <algorithm>

#include "cuda/kernels/sm90/epilogue.cuh"

namespace exactile::cuda::sm90 {

/// Where an element is in C.
struct ElementPlace {
  int row;
  int column;
  int batch;
};

/// Of a warp's sums of a tile so few are listed, and summed by themselves (few_left.cuh); more are marked, and summed
/// by tiles. A tile has 16 warps, and takes as long as some 200 listed elements.
inline constexpr unsigned most_few = 32;
inline constexpr int list_places =
    static_cast<int>(most_few) * consumers * warpgroup_threads / 32;  ///< of a CTA's tile

/// What is left to the next kernel. All zero at first.
struct LeftCount {
  unsigned listed;       ///< elements
  unsigned buckets;      ///< that they are in
  unsigned some_marked;  ///< 0 or 1
};

/// In which buckets elements are listed. Those of a bucket are of neighbouring lines of the operand whose lines are not
/// contiguous along K: what is loaded for one of them brings those of the others.
struct Buckets {
  static constexpr int lines = 8;
  bool of_rows = false;  ///< of A, otherwise of B's columns
  int groups = 0;        ///< of lines, in a product
  int spread = 0;        ///< buckets of a group, so that there are some for all CTAs
  int count = 0;         ///< in the whole batch

  Buckets() = default;
  Buckets(std::int64_t rows, std::int64_t columns, std::int64_t batches, bool are_of_rows) : of_rows(are_of_rows) {
    constexpr std::int64_t wanted = 4096;
    const std::int64_t all_groups = ((of_rows ? rows : columns) + lines - 1) / lines;
    const std::int64_t most_spread = ((of_rows ? columns : rows) + tile_m - 1) / tile_m;
    groups = static_cast<int>(all_groups);
    spread = static_cast<int>(std::clamp<std::int64_t>(wanted / (all_groups * batches), 1, most_spread));
    count = static_cast<int>(all_groups * spread * batches);
  }
  [[nodiscard]] __device__ int of(const ElementPlace& at) const {
    const int line = of_rows ? at.row : at.column;
    const int across = of_rows ? at.column : at.row;
    return (at.batch * groups + line / lines) * spread + across / tile_m % spread;
  }
};

/// References count from 1 on: 0 is none.
struct ListedElement {
  ElementPlace place;
  unsigned next;  ///< of its bucket
};

/// Elements left by one kernel to the next. `heads`, `lots` and `warps` are zero at first; `marks` are set where
/// `warps` says so.
struct Leftovers {
  LeftCount* count;
  Buckets buckets;
  unsigned* heads;     ///< [buckets]: the first element
  int* filled;         ///< [buckets]: those that have elements, in no particular order
  ListedElement* few;  ///< [cluster tiles][cluster][list_places], in no particular order
  LotsLeft lots;       ///< all that tiles take in which have marked ones
  unsigned* warps;     ///< [cluster tiles][cluster]: a bit for each multiplying warp with marks, and those below
  uint4* marks;        ///< [cluster tiles][cluster][multiplying threads]: a bit for each sum
};

/// Beside the warps' bits: the kernel before did not try the tile; it has listed some of the tile's elements.
inline constexpr unsigned untried_bit = 1u << 8;
inline constexpr unsigned listed_bit = 1u << 9;

/// Where a thread's marks are.
[[nodiscard]] __device__ inline std::int64_t left_index(int cta_tile, int warpgroup) {
  return (static_cast<std::int64_t>(cta_tile) * consumers + warpgroup) * warpgroup_threads +
         threadIdx.x % warpgroup_threads;
}

[[nodiscard]] __device__ inline bool nothing_left(const Leftovers& left, int cluster_tile) {
  return ((left.warps[cluster_tile * cluster] | left.warps[cluster_tile * cluster + 1]) & ~listed_bit) == 0;
}

/// The marks of the kernel before.
__device__ inline void read_marks(unsigned (&marks)[4], const Leftovers& left, int cta_tile, int warpgroup, int warp) {
  if ((left.warps[cta_tile] >> (4 * warpgroup + warp) & 1) == 0) return;
  const uint4 words = left.marks[left_index(cta_tile, warpgroup)];
  marks[0] = words.x;
  marks[1] = words.y;
  marks[2] = words.z;
  marks[3] = words.w;
}

/// The place of a thread's sum: `index` as `marks` have it.
[[nodiscard]] __device__ inline ElementPlace place_of(const SumPlace& at, int index) {
  return {at.thread_row(index / 2 % 2), at.column + index / 4 * 8 + at.lane % 4 * 2 + index % 2, at.batch};
}

/// By a warp, of which there are `all`, `own` of them this thread's.
__device__ inline void list_few(const unsigned (&marks)[4], const Leftovers& left, const SumPlace& at, int cta_tile,
                                unsigned own, unsigned all) {
  unsigned first = 0;
  if (at.lane == 0) {
    first = atomicAdd(&left.count->listed, all);
    atomicOr(left.warps + cta_tile, listed_bit);
  }
  first = __shfl_sync(~0u, first, 0);
  unsigned upto = own;  // of this thread and those before it
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const unsigned before = __shfl_up_sync(~0u, upto, step);
    if (at.lane >= step) upto += before;
  }
  unsigned index = first + upto - own;
#pragma unroll
  for (int word = 0; word < 4; ++word)
    for (unsigned bits = marks[word]; bits != 0; bits &= bits - 1) {
      const ElementPlace place = place_of(at, 32 * word + __ffs(static_cast<int>(bits)) - 1);
      const int bucket = left.buckets.of(place);
      const unsigned next = atomicExch(left.heads + bucket, index + 1);
      if (next == 0) left.filled[atomicAdd(&left.count->buckets, 1)] = bucket;
      left.few[index++] = {place, next};
    }
}

static_assert(lot_lines == cluster * tile_m && lot_lines == tile_n);

/// By a warp.
__device__ inline void write_all_marks(const uint4& marks, const Leftovers& left, const SplitPair& operands,
                                       const SumPlace& at, int cta_tile, int warpgroup) {
  left.marks[left_index(cta_tile, warpgroup)] = marks;
  if (at.lane != 0) return;
  left.count->some_marked = 1;
  atomicOr(left.warps + cta_tile, 1u << (4 * warpgroup + at.warp));
  left.lots.a[lot_of(operands.a, at.batch, at.row)] = 1;
  left.lots.b[lot_of(operands.b, at.batch, at.column)] = 1;
}

/// Lists or marks sums for the kernels after. `at`: where those of the warpgroup are.
__device__ inline void write_marks(const unsigned (&marks)[4], const Leftovers& left, const SplitPair& operands,
                                   const SumPlace& at, int cta_tile, int warpgroup) {
  const auto own = static_cast<unsigned>(__popc(marks[0]) + __popc(marks[1]) + __popc(marks[2]) + __popc(marks[3]));
  if (!__any_sync(~0u, own != 0)) return;
  const unsigned all = __reduce_add_sync(~0u, own);
  if (all <= most_few) {
    list_few(marks, left, at, cta_tile, own, all);
  } else {
    write_all_marks(make_uint4(marks[0], marks[1], marks[2], marks[3]), left, operands, at, cta_tile, warpgroup);
  }
}

/// Leaves all sums of a warpgroup to the kernel after.
__device__ inline void leave_untried(const Leftovers& left, const SplitPair& operands, const SumPlace& at, int cta_tile,
                                     int warpgroup) {
  write_all_marks(make_uint4(~0u, ~0u, ~0u, ~0u), left, operands, at, cta_tile, warpgroup);
  if (threadIdx.x == 0) atomicOr(left.warps + cta_tile, untried_bit);
}

}  // namespace exactile::cuda::sm90
