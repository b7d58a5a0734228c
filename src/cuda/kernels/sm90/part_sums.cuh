// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts of K that are added by those who summed them. A CTA leaves the sums of its part in memory, but for its own
/// share of the tile's columns, which it keeps. When all parts' sums of its share are there it loads them, adds them in
/// order, and stores C. Nobody must be resident for another to go on: a CTA that has waited long, or has other tiles to
/// sum, quits, and the last one to come finishes the shares of those who quit. Who finishes a share changes no bits.
#pragma once

#include <algorithm>
#include <cuda/atomic>

#include "cuda/isa/bulk_copy.cuh"
#include "cuda/kernels/sm90/epilogue.cuh"

namespace exactile::cuda::sm90 {

/// K is taken in so many parts at most,
inline constexpr int most_sum_parts = 16;
/// and all parts of all tiles are at most as many: an H100 or H200 runs as many clusters at a time.
inline constexpr int most_part_works = 66;

/// In the workspace.
struct PartSums {
  /// [cluster tiles][cluster]: bit p says that part p's sums are there, bit most_sum_parts + p that its CTA has quit.
  unsigned* state;  ///< zero at first
  float4* sums;     ///< [cluster tiles][cluster][parts][groups][threads]

  static constexpr int group = 8;  ///< columns, of which a thread has two, in two rows
  static constexpr int groups = tile_n / group;
  static constexpr int threads = consumers * warpgroup_threads;
  static constexpr int group_bytes = threads * static_cast<int>(sizeof(float4));
  static constexpr std::int64_t tile_bytes = std::int64_t{groups} * group_bytes;  ///< of a CTA's tile and one part
  static constexpr int barrier = 1 + consumers;                                   ///< of all who multiply
};

/// A CTA's tile, and the part of K that it sums.
struct PartPlace {
  int cta_tile;
  int part;
  int parts;
  int groups;  ///< of columns, that are there

  /// `columns` of C from the tile's first on.
  __device__ PartPlace(int tile_of_cta, int part_of_k, int parts_of_k, int columns)
      : cta_tile(tile_of_cta),
        part(part_of_k),
        parts(parts_of_k),
        groups(min((columns + PartSums::group - 1) / PartSums::group, PartSums::groups)) {}

  /// A bit for each group that is there.
  [[nodiscard]] __device__ unsigned mask() const { return static_cast<unsigned>((1ull << groups) - 1); }
  /// The first group of a share; shares are as many as parts.
  [[nodiscard]] __device__ int first_group(int share) const { return groups * share / parts; }
  /// The first thread's sums of a group.
  [[nodiscard]] __device__ float4* sums(const PartSums& all, int of_part, int group) const {
    return all.sums + ((std::int64_t{cta_tile} * parts + of_part) * PartSums::groups + group) * PartSums::threads;
  }
};

/// The lines of a tile, in shared memory.
struct TileScales {
  alignas(16) float2 column[tile_n];  ///< LineScale
};

/// In shared memory, beside the ring.
struct PartSpace {
  static constexpr int lots = 4;  ///< in which a share is loaded
  TileScales scales;
  std::uint64_t loaded[lots];        ///< barriers
  bool is_complete;                  ///< the CTA's own share is being loaded
  unsigned shares[most_part_works];  ///< still to be finished, a bit each, for each of a cluster's works

  __device__ void initialise() {
    for (std::uint64_t& barrier : loaded) isa::mbarrier_init(&barrier, 1);
  }
};

/// Shared memory that a share takes at most, of any tile in any number of parts.
[[nodiscard]] constexpr int most_share_bytes() {
  int most = 0;
  for (int parts = 1; parts <= most_sum_parts; ++parts)
    for (int groups = 1; groups <= PartSums::groups; ++groups)
      for (int share = 0; share < parts; ++share)
        most = std::max(most, parts * (groups * (share + 1) / parts - groups * share / parts));
  return most * PartSums::group_bytes;
}

/// A share of a tile where the ring was: [parts][groups][threads].
struct PartShare {
  float4* room;
  int first_group;
  int groups;

  __device__ PartShare(void* ring, const PartPlace& place, int share)
      : room(static_cast<float4*>(ring)),
        first_group(place.first_group(share)),
        groups(place.first_group(share + 1) - first_group) {}

  [[nodiscard]] __device__ int first_of_lot(int lot) const { return groups * lot / PartSpace::lots; }
  [[nodiscard]] __device__ float4* at(int part, int group) const {
    return room + (part * groups + group) * PartSums::threads;
  }
  /// A bit for each group of the tile.
  [[nodiscard]] __device__ unsigned mask() const { return ((1u << groups) - 1) << first_group; }

  /// By a warp that knows that the sums are there: all parts but `kept`.
  __device__ void load(PartSpace& space, const PartSums& from, const PartPlace& place, int kept) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto bytes_of = [this](int lot) {
      return (first_of_lot(lot + 1) - first_of_lot(lot)) * PartSums::group_bytes;
    };
    __syncwarp();  // what one lane has acquired is there for all
    isa::async_proxy_fence_global();
    if (lane < PartSpace::lots)
      isa::mbarrier_arrive_expect(&space.loaded[lane], bytes_of(lane) * (place.parts - (kept < 0 ? 0 : 1)));
    __syncwarp();
    for (int i = lane; i < PartSpace::lots * place.parts; i += 32) {
      const int lot = i % PartSpace::lots;
      const int part = i / PartSpace::lots;
      const int first = first_of_lot(lot);
      if (part != kept && bytes_of(lot) > 0)
        isa::bulk_load(at(part, first), place.sums(from, part, first_group + first), bytes_of(lot), &space.loaded[lot]);
    }
  }
};

/// A thread's sums of a group.
[[nodiscard]] __device__ inline float4 group_of(const Sums& sums, int g) {
  const float* const x = &sums[4 * g / (fragment_n / 2)][4 * g % (fragment_n / 2)];
  return make_float4(x[0], x[1], x[2], x[3]);
}

/// By all multiplying threads: groups with a bit in `left`, to memory. Behind this is a barrier of them all.
__device__ inline void leave_part(const Sums& sums, const PartSums& to, const PartPlace& place, unsigned left) {
  float4* const at = place.sums(to, place.part, 0) + isa::thread_here();
#pragma unroll
  for (int g = 0; g < PartSums::groups; ++g)
    if ((left & 1u << g) != 0) at[g * PartSums::threads] = group_of(sums, g);
  isa::async_proxy_fence_global();
  isa::named_barrier(PartSums::barrier, PartSums::threads);
}

/// By all multiplying threads, when nobody reads the ring any more.
__device__ inline void keep_share(const Sums& sums, const PartShare& share, int part) {
  float4* const at = share.at(part, 0) - share.first_group * PartSums::threads + isa::thread_here();
  const unsigned kept = share.mask();
#pragma unroll
  for (int g = 0; g < PartSums::groups; ++g)
    if ((kept & 1u << g) != 0) at[g * PartSums::threads] = group_of(sums, g);
}

using PartState = ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device>;

[[nodiscard]] __device__ inline bool are_all_there(unsigned state, const PartPlace& place) {
  const unsigned all = (1u << place.parts) - 1;
  return (state & all) == all;
}

/// By one thread, behind a barrier of all whose sums are to be seen: what was said of the tile before.
[[nodiscard]] __device__ inline unsigned announce_part(const PartSums& sums, const PartPlace& place, bool quits) {
  const unsigned own = 1u << place.part;
  return PartState(sums.state[place.cta_tile])
      .fetch_or(quits ? own | own << most_sum_parts : own, ::cuda::memory_order_acq_rel);
}

/// The same of a CTA that goes on to another tile: the shares that it must finish in the end, a bit each.
[[nodiscard]] __device__ inline unsigned shares_of_last(const PartSums& sums, const PartPlace& place) {
  const unsigned own = 1u << place.part;
  const unsigned before = announce_part(sums, place, true);
  return are_all_there(before | own, place) ? own | before >> most_sum_parts : 0;
}

/// By one thread: whether all parts' sums are there, or come soon.
[[nodiscard]] __device__ inline bool await_parts(const PartSums& sums, const PartPlace& place) {
  constexpr int patience = 128;  // some 100 us: others that run have come by then
  const PartState state(sums.state[place.cta_tile]);
#pragma unroll 1
  for (int i = 0; i < patience; ++i) {
    if (are_all_there(state.load(::cuda::memory_order_acquire), place)) return true;
    __nanosleep(20);
  }
  return false;
}

/// By what sums of a line are scaled back, and the least that need no care.
struct LineScale {
  float factor;
  float error;

  __device__ explicit LineScale(Line line)
      : factor(power_of_two(static_cast<std::int16_t>(line))), error(quick_error(line)) {}
};

/// What is known of a thread's two rows, and of a column that it makes known to all.
template <class Slices>
struct PartLines {
  Line rows[2];
  Line column;

  __device__ PartLines(const ProductFacts& product, const SumPlace& at) {
#pragma unroll
    for (int r = 0; r < 2; ++r) rows[r] = row_line(product, at.thread_row(r));
    column = column_line(product, at.column + static_cast<int>(threadIdx.x));
  }
  /// By all multiplying threads, before a barrier.
  __device__ void publish(TileScales& scales) const {
    const LineScale scale(column);
    scales.column[threadIdx.x] = make_float2(scale.factor, scale.error);
  }

  [[nodiscard]] __device__ static Line row_line(const ProductFacts& product, int row) {
    return line_of<Slices>(product.rows.max_bits[row], product.rows.tiny[row], product.tiny_scale);
  }
  [[nodiscard]] __device__ static Line column_line(const ProductFacts& product, int column) {
    return line_of<Slices>(product.columns.max_bits[column], product.columns.tiny[column], product.tiny_scale);
  }
};
static_assert(PartSums::threads == tile_n);

/// By a warp: a group's sums to C, with whatever is rare. `column`: of the thread's first.
template <class Slices>
__device__ inline void store_group(const float4& sums, const Output& c, const SumPlace& at, int column,
                                   const ProductFacts& product, const SplitPair& operands) {
  float next[] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll 1
  for (int e = 0; e < 4; ++e) {
    const int i = at.thread_row(e / 2);
    const int j = column + e % 2;
    const bool is_inside = i < c.rows && j < c.columns;
    const Line row = PartLines<Slices>::row_line(product, i);
    const Line line = PartLines<Slices>::column_line(product, j);
    float sum = scaled_back(next[0], row, line);
    unsigned doubtful = __ballot_sync(~0u, is_inside && is_doubtful(next[0], row, line));
    if (doubtful != 0 && at.lane == 0) count_summed(c, __popc(doubtful));
    for (; doubtful != 0; doubtful &= doubtful - 1) {
      const int lane = __ffs(static_cast<int>(doubtful)) - 1;
      const float summed = warp_sum<16>(operands, at.batch, __shfl_sync(~0u, i, lane), __shfl_sync(~0u, j, lane));
      if (at.lane == lane) sum = summed;
    }
    if (is_inside)
      c.epilogue.store(product_base(c.data, c.layout, at.batch) + i * c.layout.row_stride + j * c.layout.column_stride,
                       sum, i, j);
    next[0] = next[1], next[1] = next[2], next[2] = next[3];
  }
}

/// What all who multiply need to finish a share of a tile.
struct PartTask {
  const PartSums& sums;
  const PartPlace& place;
  const Output& c;
  const SumPlace& at;
  const ProductFacts& product;
  const SplitPair& operands;
};

/// By all multiplying threads: C from a share that has been or is being loaded.
template <class Slices>
__device__ inline void store_share(const PartTask& t, const PartShare& share, PartSpace& space, std::uint32_t parity,
                                   const Line (&rows)[2]) {
  constexpr int together = 4;  // parts whose sums are on their way
  const Output& c = t.c;
  const int thread = isa::thread_here();
  const int first_column = share.first_group * PartSums::group + 2 * (t.at.lane % 4);  // in the tile
  const LineScale row[] = {LineScale(rows[0]), LineScale(rows[1])};
  const bool is_there[] = {t.at.thread_row(0) < c.rows, t.at.thread_row(1) < c.rows};
  float* const first_row = product_base(c.data, c.layout, t.at.batch) + t.at.thread_row(0) * c.layout.row_stride +
                           (t.at.column + first_column) * c.layout.column_stride;
  float* const to[] = {first_row, first_row + 8 * c.layout.row_stride};
  const bool by_pairs =
      c.layout.column_stride == 1 && c.layout.row_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(to[0]) % 8 == 0;
#pragma unroll 1
  for (int lot = 0; lot < PartSpace::lots; ++lot) {
    isa::mbarrier_wait(&space.loaded[lot], parity);
#pragma unroll 1
    for (int g = share.first_of_lot(lot); g < share.first_of_lot(lot + 1); ++g) {
      float4 sums{};
#pragma unroll 1
      for (int first = 0; first < t.place.parts; first += together) {
        float4 added[together];
#pragma unroll
        for (int part = 0; part < together; ++part)
          if (first + part < t.place.parts) added[part] = share.at(first + part, g)[thread];
#pragma unroll
        for (int part = 0; part < together; ++part) {
          if (first + part >= t.place.parts) break;
          sums.x += added[part].x;
          sums.y += added[part].y;
          sums.z += added[part].z;
          sums.w += added[part].w;
        }
      }
      const int in_share = g * PartSums::group;
      const float4 columns = *reinterpret_cast<const float4*>(&space.scales.column[first_column + in_share]);
      // Where a comparison is with NaN, or a sum is zero because its column is not there, the longer way is taken.
      const bool is_certain = row[0].error + columns.y <= fabsf(sums.x) && row[0].error + columns.w <= fabsf(sums.y) &&
                              row[1].error + columns.y <= fabsf(sums.z) && row[1].error + columns.w <= fabsf(sums.w);
      const int column = t.at.column + first_column + in_share;
      if (!c.epilogue.is_plain || !__all_sync(~0u, is_certain)) {
        store_group<Slices>(sums, c, t.at, column, t.product, t.operands);
        continue;
      }
      // Not by a product of factors: it may be zero where the sum is Inf.
      const float2 out[] = {make_float2(sums.x * row[0].factor * columns.x, sums.y * row[0].factor * columns.z),
                            make_float2(sums.z * row[1].factor * columns.x, sums.w * row[1].factor * columns.z)};
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float* const place = to[r] + in_share * c.layout.column_stride;
        if (by_pairs && is_there[r] && column + 1 < c.columns) {
          *reinterpret_cast<float2*>(place) = out[r];
        } else if (is_there[r]) {
          if (column < c.columns) place[0] = out[r].x;
          if (column + 1 < c.columns) place[c.layout.column_stride] = out[r].y;
        }
      }
    }
  }
}

/// By all multiplying threads, with the sums of their last part: its share of C, or none if others are not there. What
/// is left to do is in space.shares[index].
template <class Slices>
__device__ inline void finish_own_share(const Sums& sums, const PartTask& t, void* ring, PartSpace& space, int index,
                                        std::uint32_t& parity) {
  const PartShare share(ring, t.place, t.place.part);
  const PartLines<Slices> lines(t.product, t.at);
  lines.publish(space.scales);
  leave_part(sums, t.sums, t.place, t.place.mask() & ~share.mask());
  unsigned before = 0;
  if (threadIdx.x == 0) before = announce_part(t.sums, t.place, false);
  keep_share(sums, share, t.place.part);
  if (threadIdx.x < 32) {
    bool is_complete = true;
    if (threadIdx.x == 0) {
      const bool is_last = are_all_there(before | 1u << t.place.part, t.place);
      is_complete = is_last || await_parts(t.sums, t.place);
      space.is_complete = is_complete;
      space.shares[index] = is_last ? before >> most_sum_parts : 0;
    }
    is_complete = __shfl_sync(~0u, is_complete ? 1 : 0, 0) != 0;
    if (is_complete) {
      share.load(space, t.sums, t.place, t.place.part);
    } else if (threadIdx.x < PartSpace::lots) {
      isa::mbarrier_arrive(&space.loaded[threadIdx.x]);
    }
  }
  isa::mbarrier_wait(&space.loaded[0], parity);
  if (space.is_complete) {
    store_share<Slices>(t, share, space, parity, lines.rows);
  } else {
#pragma unroll 1
    for (int lot = 1; lot < PartSpace::lots; ++lot) isa::mbarrier_wait(&space.loaded[lot], parity);
    const int thread = isa::thread_here();
#pragma unroll 1
    for (int g = 0; g < share.groups; ++g)
      t.place.sums(t.sums, t.place.part, share.first_group + g)[thread] = share.at(t.place.part, g)[thread];
    isa::async_proxy_fence_global();
    isa::named_barrier(PartSums::barrier, PartSums::threads);
    if (threadIdx.x == 0)
      space.shares[index] = are_all_there(announce_part(t.sums, t.place, true), t.place) ? 1u << t.place.part : 0;
  }
  parity ^= 1;
}

/// By all multiplying threads: shares whose sums are all in memory.
template <class Slices>
__device__ inline void finish_shares(unsigned shares, const PartTask& t, void* ring, PartSpace& space,
                                     std::uint32_t& parity) {
  const PartLines<Slices> lines(t.product, t.at);
  lines.publish(space.scales);
#pragma unroll 1
  for (; shares != 0; shares &= shares - 1, parity ^= 1) {
    const PartShare share(ring, t.place, __ffs(static_cast<int>(shares)) - 1);
    isa::async_proxy_fence();  // the sums that were kept there are loaded over
    isa::named_barrier(PartSums::barrier, PartSums::threads);
    if (threadIdx.x < 32) share.load(space, t.sums, t.place, -1);
    store_share<Slices>(t, share, space, parity, lines.rows);
  }
  isa::named_barrier(PartSums::barrier, PartSums::threads);  // nobody needs the scales any more
}

}  // namespace exactile::cuda::sm90
