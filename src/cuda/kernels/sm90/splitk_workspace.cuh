// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where partial sums of split-K lie, in the workspace and in shared memory, and how CTAs signal that theirs are there:
/// for splitk_reduce_scatter.cuh.
#pragma once

#include <algorithm>
#include <cuda/atomic>

#include "cuda/isa/tma.cuh"
#include "cuda/kernels/sm90/epilogue.cuh"

namespace exactile::cuda::sm90 {

/// K is split into so many slices at most,
inline constexpr int most_split_k = 16;
/// and all slices of all tiles are at most as many: an H100 or H200 runs as many clusters at a time.
inline constexpr int most_split_k_tiles = 66;

/// In the workspace.
struct SplitKWorkspace {
  /// [cluster tiles][cluster]: bit p says that slice p's sums are there, bit most_split_k + p that its CTA has quit.
  unsigned* state;  ///< zero at first
  float4* sums;     ///< [cluster tiles][cluster][K slices][groups][threads]

  static constexpr int group = 8;  ///< columns, of which a thread has two, in two rows
  static constexpr int groups = tile_n / group;
  static constexpr int threads = consumers * warpgroup_threads;
  static constexpr int group_bytes = threads * static_cast<int>(sizeof(float4));
  static constexpr std::int64_t tile_bytes = std::int64_t{groups} * group_bytes;  ///< of a CTA's tile and one K slice
  static constexpr int barrier = 1 + consumers;                                   ///< of all who multiply
};

/// A CTA's tile, and the K slice that it sums.
struct SplitKTile {
  int cta_tile;
  int k_slice;
  int split_k;
  int groups;  ///< of columns, that are there

  /// `columns` of C from the tile's first on.
  __device__ SplitKTile(int tile_of_cta, int part_of_k, int parts_of_k, int columns)
      : cta_tile(tile_of_cta),
        k_slice(part_of_k),
        split_k(parts_of_k),
        groups(min((columns + SplitKWorkspace::group - 1) / SplitKWorkspace::group, SplitKWorkspace::groups)) {}

  /// A bit for each group that is there.
  [[nodiscard]] __device__ unsigned mask() const { return static_cast<unsigned>((1ull << groups) - 1); }
  /// The first group of a share; there are as many shares as K slices.
  [[nodiscard]] __device__ int first_group(int share) const { return groups * share / split_k; }
  /// The first thread's sums of a group.
  [[nodiscard]] __device__ float4* sums(const SplitKWorkspace& all, int of_part, int group) const {
    return all.sums +
           ((std::int64_t{cta_tile} * split_k + of_part) * SplitKWorkspace::groups + group) * SplitKWorkspace::threads;
  }
};

/// The column scales of a tile, in shared memory.
struct TileScales {
  alignas(16) float2 column[tile_n];  ///< ScaleFactor
};

/// In shared memory, beside the pipeline.
struct ReduceShared {
  static constexpr int load_batches = 4;  ///< in which a share is loaded
  TileScales scales;
  std::uint64_t loaded[load_batches];   ///< barriers
  bool is_complete;                     ///< the CTA's own share is being loaded
  unsigned shares[most_split_k_tiles];  ///< still to be finished, a bit each, for each of a cluster's works

  __device__ void initialise() {
    for (std::uint64_t& barrier : loaded) isa::mbarrier_init(&barrier, 1);
  }
};

/// Shared memory that a share takes at most, of any tile and any split of K.
[[nodiscard]] constexpr int most_share_bytes() {
  int most = 0;
  for (int split_k = 1; split_k <= most_split_k; ++split_k)
    for (int groups = 1; groups <= SplitKWorkspace::groups; ++groups)
      for (int share = 0; share < split_k; ++share)
        most = std::max(most, split_k * (groups * (share + 1) / split_k - groups * share / split_k));
  return most * SplitKWorkspace::group_bytes;
}

/// A share of a tile where the pipeline was: [K slices][groups][threads].
struct ReduceShare {
  float4* room;
  int first_group;
  int groups;

  __device__ ReduceShare(void* pipeline, const SplitKTile& place, int share)
      : room(static_cast<float4*>(pipeline)),
        first_group(place.first_group(share)),
        groups(place.first_group(share + 1) - first_group) {}

  [[nodiscard]] __device__ int first_of_batch(int load_batch) const {
    return groups * load_batch / ReduceShared::load_batches;
  }
  [[nodiscard]] __device__ float4* at(int k_slice, int group) const {
    return room + (k_slice * groups + group) * SplitKWorkspace::threads;
  }
  /// A bit for each group of the tile.
  [[nodiscard]] __device__ unsigned mask() const { return ((1u << groups) - 1) << first_group; }

  /// By a warp that knows that the sums are there: all slices but `kept`.
  __device__ void load(ReduceShared& space, const SplitKWorkspace& from, const SplitKTile& place, int kept) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto bytes_of = [this](int load_batch) {
      return (first_of_batch(load_batch + 1) - first_of_batch(load_batch)) * SplitKWorkspace::group_bytes;
    };
    __syncwarp();  // what one lane has acquired is there for all
    isa::async_proxy_fence_global();
    if (lane < ReduceShared::load_batches)
      isa::mbarrier_arrive_expect(&space.loaded[lane], bytes_of(lane) * (place.split_k - (kept < 0 ? 0 : 1)));
    __syncwarp();
    for (int i = lane; i < ReduceShared::load_batches * place.split_k; i += 32) {
      const int load_batch = i % ReduceShared::load_batches;
      const int k_slice = i / ReduceShared::load_batches;
      const int first = first_of_batch(load_batch);
      if (k_slice != kept && bytes_of(load_batch) > 0)
        isa::bulk_load(at(k_slice, first), place.sums(from, k_slice, first_group + first), bytes_of(load_batch),
                       &space.loaded[load_batch]);
    }
  }
};

/// A thread's sums of a group.
[[nodiscard]] __device__ inline float4 group_of(const Accumulators& sums, int g) {
  const float* const x = &sums[4 * g / (fragment_n / 2)][4 * g % (fragment_n / 2)];
  return make_float4(x[0], x[1], x[2], x[3]);
}

/// By all consumer threads: groups with a bit in `groups`, to memory. Behind this is a barrier of them all.
__device__ inline void store_partial_sums(const Accumulators& sums, const SplitKWorkspace& to, const SplitKTile& place,
                                          unsigned groups) {
  float4* const at = place.sums(to, place.k_slice, 0) + isa::opaque_thread();
#pragma unroll
  for (int g = 0; g < SplitKWorkspace::groups; ++g)
    if ((groups & 1u << g) != 0) at[g * SplitKWorkspace::threads] = group_of(sums, g);
  isa::async_proxy_fence_global();
  isa::named_barrier(SplitKWorkspace::barrier, SplitKWorkspace::threads);
}

/// By all consumer threads, when nobody reads the pipeline any more.
__device__ inline void keep_own_share(const Accumulators& sums, const ReduceShare& share, int k_slice) {
  float4* const at = share.at(k_slice, 0) - share.first_group * SplitKWorkspace::threads + isa::opaque_thread();
  const unsigned kept = share.mask();
#pragma unroll
  for (int g = 0; g < SplitKWorkspace::groups; ++g)
    if ((kept & 1u << g) != 0) at[g * SplitKWorkspace::threads] = group_of(sums, g);
}

using SplitKState = ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device>;

[[nodiscard]] __device__ inline bool are_all_ready(unsigned state, const SplitKTile& place) {
  const unsigned all = (1u << place.split_k) - 1;
  return (state & all) == all;
}

/// By one thread, behind a barrier of all whose sums are to be seen: what was said of the tile before.
[[nodiscard]] __device__ inline unsigned signal_partial_sums(const SplitKWorkspace& sums, const SplitKTile& place,
                                                             bool quits) {
  const unsigned own = 1u << place.k_slice;
  return SplitKState(sums.state[place.cta_tile])
      .fetch_or(quits ? own | own << most_split_k : own, ::cuda::memory_order_acq_rel);
}

/// The same of a CTA that goes on to another tile: the shares that it must reduce in the end, a bit each.
[[nodiscard]] __device__ inline unsigned shares_to_reduce(const SplitKWorkspace& sums, const SplitKTile& place) {
  const unsigned own = 1u << place.k_slice;
  const unsigned before = signal_partial_sums(sums, place, true);
  return are_all_ready(before | own, place) ? own | before >> most_split_k : 0;
}

/// By one thread: whether all partial sums are there, or come soon.
[[nodiscard]] __device__ inline bool wait_for_partial_sums(const SplitKWorkspace& sums, const SplitKTile& place) {
  constexpr int patience = 128;  // some 100 us: others that run have come by then
  const SplitKState state(sums.state[place.cta_tile]);
#pragma unroll 1
  for (int i = 0; i < patience; ++i) {
    if (are_all_ready(state.load(::cuda::memory_order_acquire), place)) return true;
    __nanosleep(20);
  }
  return false;
}

}  // namespace exactile::cuda::sm90
