// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which elements of C one kernel leaves to the next.
#pragma once

#include <algorithm>

#include "cuda/kernels/sm90/epilogue.cuh"

namespace exactile::cuda::sm90 {

/// Where an element is in C.
struct ElementCoord {
  int row;
  int column;
  int batch;
};

/// Of a warp's sums of a tile so few are listed, and summed by themselves (fixup_listed.cuh); more are marked, and
/// summed by tiles. A tile has 16 warps, and takes as long as some 200 listed elements.
inline constexpr unsigned most_listed = 32;
inline constexpr int list_capacity =
    static_cast<int>(most_listed) * consumers * warpgroup_threads / 32;  ///< of a CTA's tile

/// How much is left to fix up. All zero at first.
struct FixupCount {
  unsigned listed;       ///< elements
  unsigned buckets;      ///< that they are in
  unsigned some_marked;  ///< 0 or 1
};

/// In which buckets elements are listed. Those of a bucket are of neighbouring rows (or columns) of the operand that is
/// not K-major: what is loaded for one of them brings those of the others.
struct Buckets {
  static constexpr int mn_count = 8;
  bool of_rows = false;  ///< of A, otherwise of B's columns
  int groups = 0;        ///< of rows or columns, in a product
  int spread = 0;        ///< buckets of a group, so that there are some for all CTAs
  int count = 0;         ///< in the whole batch

  Buckets() = default;
  Buckets(std::int64_t rows, std::int64_t columns, std::int64_t batches, bool are_of_rows) : of_rows(are_of_rows) {
    constexpr std::int64_t wanted = 4096;
    const std::int64_t all_groups = ((of_rows ? rows : columns) + mn_count - 1) / mn_count;
    const std::int64_t most_spread = ((of_rows ? columns : rows) + tile_m - 1) / tile_m;
    groups = static_cast<int>(all_groups);
    spread = static_cast<int>(std::clamp<std::int64_t>(wanted / (all_groups * batches), 1, most_spread));
    count = static_cast<int>(all_groups * spread * batches);
  }
  [[nodiscard]] __device__ int of(const ElementCoord& at) const {
    const int mn = of_rows ? at.row : at.column;
    const int across = of_rows ? at.column : at.row;
    return (at.batch * groups + mn / mn_count) * spread + across / tile_m % spread;
  }
};

/// References count from 1 on: 0 is none.
struct FixupElement {
  ElementCoord place;
  unsigned next;  ///< of its bucket
};

/// Elements left by one kernel to the fix-up kernels. `heads`, `fixup_blocks` and `warps` are zero at first; `marks`
/// are set where `warps` says so.
struct Fixup {
  FixupCount* count;
  Buckets buckets;
  unsigned* heads;           ///< [buckets]: the first element
  int* filled;               ///< [buckets]: those that have elements, in no particular order
  FixupElement* list;        ///< [cluster tiles][cluster][list_capacity], in no particular order
  FixupBlocks fixup_blocks;  ///< all that tiles take in which have marked ones
  std::uint64_t* warps;  ///< [cluster tiles][cluster]: a bit for each word of a consumer warp's marks, and those below
  unsigned* marks;       ///< [cluster tiles][cluster][consumer threads][mark_words]: a bit for each sum
};

/// Beside the warps' bits: the kernel before did not try the tile; it has listed some of the tile's elements.
inline constexpr std::uint64_t skipped_tile_bit = 1ull << 32;
inline constexpr std::uint64_t listed_bit = 1ull << 33;

/// Of a thread's marks, one for each quarter of a tile's columns.
inline constexpr int mark_words = 4;

/// The bit of the first word of a warp's marks.
[[nodiscard]] __device__ inline int mark_bit(int warpgroup, int warp) { return mark_words * (4 * warpgroup + warp); }

__device__ inline void set_bits(std::uint64_t& word, std::uint64_t bits) {
  atomicOr(reinterpret_cast<unsigned long long*>(&word), static_cast<unsigned long long>(bits));
}

/// Where a thread's first word of marks is.
[[nodiscard]] __device__ inline std::int64_t mark_index(int cta_tile, int warpgroup) {
  return mark_words * ((static_cast<std::int64_t>(cta_tile) * consumers + warpgroup) * warpgroup_threads +
                       threadIdx.x % warpgroup_threads);
}

[[nodiscard]] __device__ inline bool needs_no_fixup(const Fixup& fixup, int cluster_tile) {
  return ((fixup.warps[cluster_tile * cluster] | fixup.warps[cluster_tile * cluster + 1]) & ~listed_bit) == 0;
}

/// The marks of the kernel before.
__device__ inline void read_marks(unsigned (&marks)[4], const Fixup& fixup, int cta_tile, int warpgroup, int warp) {
  const auto there = static_cast<unsigned>(fixup.warps[cta_tile] >> mark_bit(warpgroup, warp));
#pragma unroll
  for (int word = 0; word < mark_words; ++word)
    if ((there >> word & 1) != 0) marks[word] = fixup.marks[mark_index(cta_tile, warpgroup) + word];
}

/// The place of a thread's sum: `index` as `marks` have it.
[[nodiscard]] __device__ inline ElementCoord place_of(const FragmentCoord& at, int index) {
  return {at.thread_row(index / 2 % 2), at.column + index / 4 * 8 + at.lane % 4 * 2 + index % 2, at.batch};
}

/// By a warp, of which there are `all`, `own` of them this thread's.
__device__ inline void list_for_fixup(const unsigned (&marks)[4], const Fixup& fixup, const FragmentCoord& at,
                                      int cta_tile, unsigned own, unsigned all) {
  unsigned first = 0;
  if (at.lane == 0) {
    first = atomicAdd(&fixup.count->listed, all);
    set_bits(fixup.warps[cta_tile], listed_bit);
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
      const ElementCoord place = place_of(at, 32 * word + __ffs(static_cast<int>(bits)) - 1);
      const int bucket = fixup.buckets.of(place);
      const unsigned next = atomicExch(fixup.heads + bucket, index + 1);
      if (next == 0) fixup.filled[atomicAdd(&fixup.count->buckets, 1)] = bucket;
      fixup.list[index++] = {place, next};
    }
}

static_assert(fixup_block_size == cluster * tile_m && fixup_block_size == tile_n);

/// By a warp, `count` words from `first` on.
__device__ inline void write_all_marks(const unsigned (&marks)[4], const Fixup& fixup, const SplitPair& operands,
                                       const FragmentCoord& at, int cta_tile, int warpgroup, int first, int count) {
#pragma unroll
  for (int word = 0; word < mark_words; ++word)
    if (word >= first && word < first + count) fixup.marks[mark_index(cta_tile, warpgroup) + word] = marks[word];
  if (at.lane != 0) return;
  fixup.count->some_marked = 1;
  set_bits(fixup.warps[cta_tile], ((std::uint64_t{1} << count) - 1) << (mark_bit(warpgroup, at.warp) + first));
  fixup.fixup_blocks.a[fixup_block_of(operands.a, at.batch, at.row)] = 1;
  fixup.fixup_blocks.b[fixup_block_of(operands.b, at.batch, at.column)] = 1;
}

/// Lists or marks sums for the kernels after: the last `count` words of `found` are those from `first` on. `at`: where
/// the warpgroup's are in the whole tile.
__device__ inline void write_marks(const unsigned (&found)[4], const Fixup& fixup, const SplitPair& operands,
                                   const FragmentCoord& at, int cta_tile, int warpgroup, int first, int count) {
  const auto own = static_cast<unsigned>(__popc(found[0]) + __popc(found[1]) + __popc(found[2]) + __popc(found[3]));
  if (!__any_sync(~0u, own != 0)) return;
  unsigned marks[mark_words] = {};
#pragma unroll
  for (int word = 0; word < mark_words; ++word)
#pragma unroll
    for (int from = 0; from < mark_words; ++from)
      if (from >= mark_words - count && word - first == from - (mark_words - count)) marks[word] = found[from];
  const unsigned all = __reduce_add_sync(~0u, own);
  if (all <= most_listed * static_cast<unsigned>(count) / mark_words) {
    list_for_fixup(marks, fixup, at, cta_tile, own, all);
  } else {
    write_all_marks(marks, fixup, operands, at, cta_tile, warpgroup, first, count);
  }
}

/// Leaves all sums of a warpgroup to the kernel after.
__device__ inline void skip_tile(const Fixup& fixup, const SplitPair& operands, const FragmentCoord& at, int cta_tile,
                                 int warpgroup, int first, int count) {
  write_all_marks({~0u, ~0u, ~0u, ~0u}, fixup, operands, at, cta_tile, warpgroup, first, count);
  if (threadIdx.x == 0) set_bits(fixup.warps[cta_tile], skipped_tile_bit);
}

}  // namespace exactile::cuda::sm90
