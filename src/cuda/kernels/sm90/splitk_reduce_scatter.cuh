// SPDX-License-Identifier: Apache-2.0
/// \file
/// Split-K whose partial sums are added by the CTAs that formed them (a reduce-scatter through memory). A CTA stores
/// the sums of its K slice, but for its own share of the tile's columns, which it keeps. When all partial sums of its
/// share are there it loads them, adds them in order, and stores C. Nobody must be resident for another to go on: a CTA
/// that has waited long, or has other tiles to sum, quits, and the last one to come reduces the shares of those who
/// quit. Who reduces a share changes no bits.
#pragma once

#include "cuda/kernels/sm90/splitk_workspace.cuh"

namespace exactile::cuda::sm90 {

/// By what sums of a row or column are scaled back, and the least that need no care.
struct ScaleFactor {
  float factor;
  float error;

  __device__ explicit ScaleFactor(PackedScale scale)
      : factor(power_of_two(static_cast<std::int16_t>(scale))), error(fast_path_error(scale)) {}
};

/// What is known of a thread's two rows, and of a column that it makes known to all.
template <class Slices>
struct ReduceScales {
  PackedScale rows[2];
  PackedScale column;

  __device__ ReduceScales(const ProductScales& product, const FragmentCoord& at) {
#pragma unroll
    for (int r = 0; r < 2; ++r) rows[r] = row_scale(product, at.thread_row(r));
    column = column_scale(product, at.column + static_cast<int>(threadIdx.x));
  }
  /// By all consumer threads, before a barrier.
  __device__ void publish(TileScales& scales) const {
    const ScaleFactor scale(column);
    scales.column[threadIdx.x] = make_float2(scale.factor, scale.error);
  }

  [[nodiscard]] __device__ static PackedScale row_scale(const ProductScales& product, int row) {
    return packed_scale<Slices>(product.rows.max_bits[row], product.rows.underflows[row], product.underflow_scale);
  }
  [[nodiscard]] __device__ static PackedScale column_scale(const ProductScales& product, int column) {
    return packed_scale<Slices>(product.columns.max_bits[column], product.columns.underflows[column],
                                product.underflow_scale);
  }
};
static_assert(SplitKWorkspace::threads == tile_n);

/// By a warp: a group's sums to C, with whatever is rare. `column`: of the thread's first.
template <class Slices>
__device__ inline void store_group(const float4& sums, const Output& c, const FragmentCoord& at, int column,
                                   const ProductScales& product, const SplitPair& operands) {
  float next[] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll 1
  for (int e = 0; e < 4; ++e) {
    const int i = at.thread_row(e / 2);
    const int j = column + e % 2;
    const bool is_inside = i < c.rows && j < c.columns;
    const PackedScale row = ReduceScales<Slices>::row_scale(product, i);
    const PackedScale scale = ReduceScales<Slices>::column_scale(product, j);
    float sum = scaled_back(next[0], row, scale);
    unsigned to_fix = __ballot_sync(~0u, is_inside && needs_fixup(next[0], row, scale));
    if (to_fix != 0 && at.lane == 0) count_f32_sums(c, __popc(to_fix));
    for (; to_fix != 0; to_fix &= to_fix - 1) {
      const int lane = __ffs(static_cast<int>(to_fix)) - 1;
      const float summed = warp_sum<16>(operands, at.batch, __shfl_sync(~0u, i, lane), __shfl_sync(~0u, j, lane));
      if (at.lane == lane) sum = summed;
    }
    if (is_inside)
      c.epilogue.store(product_base(c.data, c.layout, at.batch) + i * c.layout.row_stride + j * c.layout.column_stride,
                       sum, i, j);
    next[0] = next[1], next[1] = next[2], next[2] = next[3];
  }
}

/// What all who multiply need to reduce a share of a tile.
struct ReduceTask {
  const SplitKWorkspace& sums;
  const SplitKTile& place;
  const Output& c;
  const FragmentCoord& at;
  const ProductScales& product;
  const SplitPair& operands;
};

/// By all consumer threads: C from a share that has been or is being loaded.
template <class Slices>
__device__ inline void reduce_share(const ReduceTask& t, const ReduceShare& share, ReduceShared& space,
                                    std::uint32_t parity, const PackedScale (&rows)[2]) {
  constexpr int together = 4;  // K slices whose sums are on their way
  const Output& c = t.c;
  const int thread = isa::opaque_thread();
  const int first_column = share.first_group * SplitKWorkspace::group + 2 * (t.at.lane % 4);  // in the tile
  const ScaleFactor row[] = {ScaleFactor(rows[0]), ScaleFactor(rows[1])};
  const bool is_there[] = {t.at.thread_row(0) < c.rows, t.at.thread_row(1) < c.rows};
  float* const first_row = product_base(c.data, c.layout, t.at.batch) + t.at.thread_row(0) * c.layout.row_stride +
                           (t.at.column + first_column) * c.layout.column_stride;
  float* const to[] = {first_row, first_row + 8 * c.layout.row_stride};
  const bool by_pairs =
      c.layout.column_stride == 1 && c.layout.row_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(to[0]) % 8 == 0;
#pragma unroll 1
  for (int load_batch = 0; load_batch < ReduceShared::load_batches; ++load_batch) {
    isa::mbarrier_wait(&space.loaded[load_batch], parity);
#pragma unroll 1
    for (int g = share.first_of_batch(load_batch); g < share.first_of_batch(load_batch + 1); ++g) {
      float4 sums{};
#pragma unroll 1
      for (int first = 0; first < t.place.split_k; first += together) {
        float4 added[together];
#pragma unroll
        for (int k_slice = 0; k_slice < together; ++k_slice)
          if (first + k_slice < t.place.split_k) added[k_slice] = share.at(first + k_slice, g)[thread];
#pragma unroll
        for (int k_slice = 0; k_slice < together; ++k_slice) {
          if (first + k_slice >= t.place.split_k) break;
          sums.x += added[k_slice].x;
          sums.y += added[k_slice].y;
          sums.z += added[k_slice].z;
          sums.w += added[k_slice].w;
        }
      }
      const int in_share = g * SplitKWorkspace::group;
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

/// By all consumer threads, with the sums of their last K slice: its share of C, or none if others are not there. What
/// is left to do is in space.shares[index].
template <class Slices>
__device__ inline void reduce_own_share(const Accumulators& sums, const ReduceTask& t, void* pipeline,
                                        ReduceShared& space, int index, std::uint32_t& parity) {
  const ReduceShare share(pipeline, t.place, t.place.k_slice);
  const ReduceScales<Slices> scales(t.product, t.at);
  scales.publish(space.scales);
  store_partial_sums(sums, t.sums, t.place, t.place.mask() & ~share.mask());
  unsigned before = 0;
  if (threadIdx.x == 0) before = signal_partial_sums(t.sums, t.place, false);
  keep_own_share(sums, share, t.place.k_slice);
  if (threadIdx.x < 32) {
    bool is_complete = true;
    if (threadIdx.x == 0) {
      const bool is_last = are_all_ready(before | 1u << t.place.k_slice, t.place);
      is_complete = is_last || wait_for_partial_sums(t.sums, t.place);
      space.is_complete = is_complete;
      space.shares[index] = is_last ? before >> most_split_k : 0;
    }
    is_complete = __shfl_sync(~0u, is_complete ? 1 : 0, 0) != 0;
    if (is_complete) {
      share.load(space, t.sums, t.place, t.place.k_slice);
    } else if (threadIdx.x < ReduceShared::load_batches) {
      isa::mbarrier_arrive(&space.loaded[threadIdx.x]);
    }
  }
  isa::mbarrier_wait(&space.loaded[0], parity);
  if (space.is_complete) {
    reduce_share<Slices>(t, share, space, parity, scales.rows);
  } else {
#pragma unroll 1
    for (int load_batch = 1; load_batch < ReduceShared::load_batches; ++load_batch)
      isa::mbarrier_wait(&space.loaded[load_batch], parity);
    const int thread = isa::opaque_thread();
#pragma unroll 1
    for (int g = 0; g < share.groups; ++g)
      t.place.sums(t.sums, t.place.k_slice, share.first_group + g)[thread] = share.at(t.place.k_slice, g)[thread];
    isa::async_proxy_fence_global();
    isa::named_barrier(SplitKWorkspace::barrier, SplitKWorkspace::threads);
    if (threadIdx.x == 0)
      space.shares[index] =
          are_all_ready(signal_partial_sums(t.sums, t.place, true), t.place) ? 1u << t.place.k_slice : 0;
  }
  parity ^= 1;
}

/// By all consumer threads: shares whose sums are all in memory.
template <class Slices>
__device__ inline void reduce_shares(unsigned shares, const ReduceTask& t, void* pipeline, ReduceShared& space,
                                     std::uint32_t& parity) {
  const ReduceScales<Slices> scales(t.product, t.at);
  scales.publish(space.scales);
#pragma unroll 1
  for (; shares != 0; shares &= shares - 1, parity ^= 1) {
    const ReduceShare share(pipeline, t.place, __ffs(static_cast<int>(shares)) - 1);
    isa::async_proxy_fence();  // the sums that were kept there are loaded over
    isa::named_barrier(SplitKWorkspace::barrier, SplitKWorkspace::threads);
    if (threadIdx.x < 32) share.load(space, t.sums, t.place, -1);
    reduce_share<Slices>(t, share, space, parity, scales.rows);
  }
  isa::named_barrier(SplitKWorkspace::barrier, SplitKWorkspace::threads);  // nobody needs the scales any more
}

}  // namespace exactile::cuda::sm90
