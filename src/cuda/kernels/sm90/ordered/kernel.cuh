// SPDX-License-Identifier: Apache-2.0
/// \file
/// A CTA has some rows of the operand that is split ahead, and 32 columns of the other one, W. Its warps, and the CTAs
/// of its cluster, take chunks of K. A CTA that is alone adds its warps' sums by turns. In a cluster the sums of a
/// round's chunks go to the CTA whose share of the tile they are of, and that adds them in order: bits do not depend on
/// who summed a chunk.
#pragma once

#include "cuda/kernels/sm90/ordered/warp_chunks.cuh"

namespace exactile::cuda::sm90::ordered {

/// Of a power of two. In code for the device std::countr_zero() is 32 of everything.
[[nodiscard]] __device__ inline int log_of(int power) { return 31 - __clz(power); }

/// Where sums of chunks meet, and what a thread has of what they are added to: elements `threads` apart, of its CTA's
/// share of the tile.
template <int rows>
class TileSums {
 public:
  static constexpr int most_each = rows * tile_columns / threads;

  __device__ TileSums(std::byte* place, std::uint64_t* turns, const Place& at)
      : sums_(reinterpret_cast<float*>(place)), turns_(turns), share_log_(log_of(rows * tile_columns / at.ranks)) {}

  [[nodiscard]] __device__ int share() const { return 1 << share_log_; }

  /// By a warp, where the CTA is alone: adds a chunk's sums when all before it are added, some rows after others.
  __device__ void add_by_turns(const ChunkSums<rows>& d, int chunk, int chunks) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int part = 0; part < turn_parts(rows); ++part) {
      if (chunk > 0) isa::mbarrier_wait(&turns_[part * warps + warp], turn_parity_);
      each_pair<part_groups>(d, part * part_groups, [&](int row, int column, float first, float second) {
        auto* const to = reinterpret_cast<float2*>(sums_ + row * sums_pitch + column);
        const float2 before = chunk > 0 ? *to : make_float2(0, 0);
        *to = make_float2(before.x + first, before.y + second);
      });
      __syncwarp();
      if (threadIdx.x % 32 == 0 && chunk + 1 < chunks) isa::mbarrier_arrive(&turns_[part * warps + (warp + 1) % warps]);
    }
    if (chunk > 0) turn_parity_ ^= 1;
  }
  /// By a warp: hands the sums of the cluster's round's chunk `number` to those that add them.
  __device__ void hand_over(const ChunkSums<rows>& d, int number) const {
    each_pair<rows / group_rows>(d, 0, [&](int row, int column, float first, float second) {
      const int e = row * tile_columns + column;
      float* const to = sums_ + (number << share_log_) + (e & (share() - 1));
      isa::store_there(isa::shared_address_in(to, e >> share_log_), make_float2(first, second));
    });
  }
  /// By a CTA of a cluster: so many chunks, in order.
  __device__ void add(int chunks) {
#pragma unroll
    for (int i = 0; i < most_each; ++i)
      if (in_share(i) < share()) {
        const float* const from = sums_ + in_share(i);
#pragma unroll 16
        for (int c = 0; c < chunks; ++c) sum[i] += from[c << share_log_];
      }
  }
  /// By a CTA that is alone.
  __device__ void collect() {
#pragma unroll
    for (int i = 0; i < most_each; ++i)
      sum[i] = sums_[in_share(i) / tile_columns * sums_pitch + in_share(i) % tile_columns];
  }
  [[nodiscard]] __device__ static int in_share(int i) { return static_cast<int>(threadIdx.x) + i * threads; }

  float sum[most_each] = {};

 private:
  static constexpr int part_groups = rows / group_rows / turn_parts(rows);

  template <int groups, class Take>
  __device__ static void each_pair(const ChunkSums<rows>& d, int first, Take take) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int group = first; group < first + groups; ++group)
#pragma unroll
      for (int half = 0; half < tile_columns / mma_columns; ++half)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          take(group * group_rows + lane % 4 * 2 + i, half * mma_columns + lane / 4 * lane_columns, d[group][half][i],
               d[group][half][i + 2]);
  }

  float* sums_;
  std::uint64_t* turns_;
  int share_log_;
  std::uint32_t turn_parity_ = 0;
};

/// By a CTA: C's elements but those that slices cannot hold, which it lists.
template <int rows>
__device__ inline void store_sums(Shared& shared, unsigned short* list, const Parameters& p, const Place& place,
                                  const TileSums<rows>& sums) {
  const VectorScales of_few = scales_of(p.few, place.batch);
  const OperandLayout& c = p.out.layout;
  float* const base = product_base(p.out.data, c, place.batch);
#pragma unroll
  for (int i = 0; i < sums.most_each; ++i) {
    const int e = place.rank * sums.share() + sums.in_share(i);
    const int row = place.row + e / tile_columns;
    const int column = place.column + e % tile_columns;
    if (sums.in_share(i) >= sums.share() || row >= p.few.rows || column >= p.wide.rows) continue;
    const PackedScale scale = packed_scale<Fp16x3>(of_few.max_bits[row], of_few.underflows[row], p.underflow_scale);
    const PackedScale of_column = packed_scale<Fp16x3>(shared.guess[e % tile_columns],
                                                       shared.underflows_of_all[e % tile_columns], p.underflow_scale);
    if (needs_fixup(sums.sum[i], scale, of_column, p.most_element_error)) {
      list[atomicAdd(&shared.listed, 1)] = static_cast<unsigned short>(e);
    } else {
      const int m = p.few_is_a ? row : column;
      const int n = p.few_is_a ? column : row;
      p.out.epilogue.store(base + m * c.row_stride + n * c.column_stride, scaled_back(sums.sum[i], scale, of_column), m,
                           n);
    }
  }
}

/// By a CTA: the elements that are listed.
__device__ inline void fix_up(FixupShared<Bf16x6>& space, const Shared& shared, const unsigned short* list,
                              const Parameters& p, const Place& place) {
  const SplitPair operands = p.few_is_a ? SplitPair{p.few, p.wide} : SplitPair{p.wide, p.few};
#pragma unroll 1
  for (int first = 0; first < shared.listed; first += Buckets::mn_count) {
    __syncthreads();
    const int index = first + static_cast<int>(threadIdx.x);
    if (threadIdx.x == 0) space.count = min(shared.listed - first, Buckets::mn_count);
    if (threadIdx.x < Buckets::mn_count && index < shared.listed) {
      const int row = place.row + list[index] / tile_columns;
      const int column = place.column + list[index] % tile_columns;
      space.places[threadIdx.x] =
          p.few_is_a ? ElementCoord{row, column, place.batch} : ElementCoord{column, row, place.batch};
    }
    __syncthreads();
    sum_elements<Bf16x6>(space, operands, p.underflow_scale_again, p.out);
  }
}

template <int rows, int ctas>
__global__ void __launch_bounds__(threads, ctas) multiply_in_order(const __grid_constant__ Parameters p) {
  extern __shared__ __align__(1024) std::byte dynamic[];
  __shared__ Shared shared;
  const Place place(p, rows);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int round_chunks = p.round_chunks;
  const int cluster_chunks = place.ranks * round_chunks;

  if (threadIdx.x < tile_columns) shared.guess[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    isa::tma_prefetch_map(&p.few_map);
    shared.listed = 0;
  }
  if (threadIdx.x < warps)
    for (int kind = 0; kind < Shared::barriers_of_warp; ++kind)
      isa::mbarrier_init(&shared.barriers[kind][threadIdx.x], 1);
  isa::mbarrier_init_fence();
  __syncthreads();
  WarpChunks<rows, ctas> chunks(dynamic, shared, p, place);
  TileSums<rows> sums(dynamic + warps * warp_bytes(rows, ctas), shared.turn(), place);
  const WideReader reader(p.reading == Reading::along);
  guess_scales(shared, p, chunks);  // W was there before the kernel that splits the other operand began
  chunks.begin();
  isa::wait_for_kernel_before();
  while (true) {
    chunks.fetch_few();
    if (threadIdx.x < tile_columns)
      for (auto* const found : {shared.most, shared.underflows, shared.underflows_of_all}) found[threadIdx.x] = 0;
    place.arrive();
    place.wait();
#pragma unroll 1
    for (int first = 0; first < p.chunks; first += cluster_chunks) {
      const int own = first + place.rank * round_chunks;
#pragma unroll 1
      for (int i = warp; i < round_chunks && own + i < p.chunks; i += warps) {
        TileSlices wide;
        ChunkSums<rows> d;
        chunks.wait_for_wide();
        split_chunk(wide, chunks.wide(), reader, shared, p.wide.rows - place.column, p.wide.k);
        chunks.fetch_wide();
        chunks.wait_for_few();
        p.few_is_a ? multiply_chunk<true, rows>(d, chunks.few, wide) : multiply_chunk<false, rows>(d, chunks.few, wide);
        chunks.fetch_few();
        place.ranks == 1 ? sums.add_by_turns(d, own + i, p.chunks) : sums.hand_over(d, own - first + i);
      }
      place.arrive();
      place.wait();
      if (place.ranks == 1) break;
      sums.add(min(cluster_chunks, p.chunks - first));
      if (first + cluster_chunks < p.chunks) {
        place.arrive();
        place.wait();
      }
    }
    if (place.ranks == 1) sums.collect();
    if (!has_misled(shared, p, place)) break;
    for (float& sum : sums.sum) sum = 0;
    chunks.begin();
  }
  unsigned short* const list = list_in(dynamic);
  store_sums(shared, list, p, place, sums);
  __syncthreads();
  if (shared.listed != 0) fix_up(reinterpret_cast<FixupShared<Bf16x6>&>(dynamic), shared, list, p, place);
}

}  // namespace exactile::cuda::sm90::ordered
