// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which elements of C one kernel leaves to the next.
#pragma once

#include "cuda/kernels/sm90/epilogue.cuh"

namespace exactile::cuda::sm90 {

/// Elements left by one kernel to the next. All zero at first, but for `marks`, which are set where `warps` says so.
struct Leftovers {
  unsigned* any;    ///< one word: whether there are any
  unsigned* warps;  ///< [cluster tiles][cluster]: a bit for each multiplying warp, and untried_bit
  uint4* marks;     ///< [cluster tiles][cluster][multiplying threads]: a bit for each sum
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

/// Marks for the kernel after.
__device__ inline void write_marks(const unsigned (&marks)[4], const Leftovers& left, int cta_tile, int warpgroup,
                                   int warp) {
  if (!__any_sync(~0u, (marks[0] | marks[1] | marks[2] | marks[3]) != 0)) return;
  left.marks[left_index(cta_tile, warpgroup)] = make_uint4(marks[0], marks[1], marks[2], marks[3]);
  if (threadIdx.x % 32 == 0) {
    atomicOr(left.warps + cta_tile, 1u << (4 * warpgroup + warp));
    *left.any = 1;
  }
}

/// Leaves all sums of a warpgroup to the kernel after.
__device__ inline void leave_untried(const Leftovers& left, int cta_tile, int warpgroup, int warp) {
  constexpr unsigned all = ~0u;
  write_marks({all, all, all, all}, left, cta_tile, warpgroup, warp);
  if (threadIdx.x == 0) atomicOr(left.warps + cta_tile, untried_bit);
}

}  // namespace exactile::cuda::sm90
