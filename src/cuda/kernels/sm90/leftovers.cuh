// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which elements of C one kernel leaves to the next.
#pragma once

#include "cuda/kernels/sm90/epilogue.cuh"

namespace exactile::cuda::sm90 {

/// Where an element is in C.
struct ElementPlace {
  int row;
  int column;
  int batch;
};

/// Elements left by one kernel to the next. `count`, `lots` and `warps` are zero at first; `marks` are set where
/// `warps` says so, `few` where there are no more.
struct Leftovers {
  unsigned* count;    ///< one word: how many there are; of a warp's no more than most_few + 1 are counted
  LotsLeft lots;      ///< all that tiles take in which have some
  ElementPlace* few;  ///< [most_few]: where they are, in no particular order
  unsigned* warps;    ///< [cluster tiles][cluster]: a bit for each multiplying warp, and untried_bit
  uint4* marks;       ///< [cluster tiles][cluster][multiplying threads]: a bit for each sum
};

/// Beside the warps' bits: the kernel before did not try the tile.
inline constexpr unsigned untried_bit = 1u << 8;

/// Where a thread's marks are.
[[nodiscard]] __device__ inline std::int64_t left_index(int cta_tile, int warpgroup) {
  return (static_cast<std::int64_t>(cta_tile) * consumers + warpgroup) * warpgroup_threads +
         threadIdx.x % warpgroup_threads;
}

[[nodiscard]] __device__ inline bool nothing_left(const Leftovers& left, int cluster_tile) {
  return (left.warps[cluster_tile * cluster] | left.warps[cluster_tile * cluster + 1]) == 0;
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
__device__ inline void list_few(const unsigned (&marks)[4], const Leftovers& left, const SumPlace& at, unsigned own,
                                unsigned all) {
  unsigned first = 0;
  if (at.lane == 0) first = atomicAdd(left.count, min(all, most_few + 1));
  first = __shfl_sync(~0u, first, 0);
  if (all > most_few || first + all > most_few) return;
  unsigned upto = own;  // of this thread and those before it
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const unsigned before = __shfl_up_sync(~0u, upto, step);
    if (at.lane >= step) upto += before;
  }
  ElementPlace* to = left.few + first + upto - own;
#pragma unroll
  for (int word = 0; word < 4; ++word)
    for (unsigned bits = marks[word]; bits != 0; bits &= bits - 1)
      *to++ = place_of(at, 32 * word + __ffs(static_cast<int>(bits)) - 1);
}

static_assert(lot_lines == cluster * tile_m && lot_lines == tile_n);

/// By a warp.
__device__ inline void write_all_marks(const uint4& marks, const Leftovers& left, const SplitPair& operands,
                                       const SumPlace& at, int cta_tile, int warpgroup) {
  left.marks[left_index(cta_tile, warpgroup)] = marks;
  if (at.lane != 0) return;
  atomicOr(left.warps + cta_tile, 1u << (4 * warpgroup + at.warp));
  left.lots.a[lot_of(operands.a, at.batch, at.row)] = 1;
  left.lots.b[lot_of(operands.b, at.batch, at.column)] = 1;
}

/// Marks for the kernel after. `at`: where the sums of the warpgroup are.
__device__ inline void write_marks(const unsigned (&marks)[4], const Leftovers& left, const SplitPair& operands,
                                   const SumPlace& at, int cta_tile, int warpgroup) {
  const auto own = static_cast<unsigned>(__popc(marks[0]) + __popc(marks[1]) + __popc(marks[2]) + __popc(marks[3]));
  if (!__any_sync(~0u, own != 0)) return;
  write_all_marks(make_uint4(marks[0], marks[1], marks[2], marks[3]), left, operands, at, cta_tile, warpgroup);
  list_few(marks, left, at, own, __reduce_add_sync(~0u, own));
}

/// Leaves all sums of a warpgroup to the kernel after.
__device__ inline void leave_untried(const Leftovers& left, const SplitPair& operands, const SumPlace& at, int cta_tile,
                                     int warpgroup) {
  write_all_marks(make_uint4(~0u, ~0u, ~0u, ~0u), left, operands, at, cta_tile, warpgroup);
  if (at.lane == 0) atomicAdd(left.count, most_few + 1);
  if (threadIdx.x == 0) atomicOr(left.warps + cta_tile, untried_bit);
}

}  // namespace exactile::cuda::sm90
