// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/splitk_reduce_global.hpp"

#include <algorithm>
#include <bit>

#include "cuda/kernels/sm90/fixup_list.cuh"
#include "cuda/kernels/sm90/register_split.cuh"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::sm90 {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;
/// Elements of one row that a lane has, 32 columns apart: few where K slices are many, so that CTAs are.
constexpr int few_slices_per_lane = 4;
constexpr int many_slices_per_lane = 1;
constexpr int many_slices = 32;  // and less are few

/// The scales of a row or column in some K slices, and what they are together.
struct SliceScales {
  VectorScales first;
  std::int64_t step;

  __device__ SliceScales(const SplitOperand& operand, int batch, std::int64_t index)
      : first{operand.scales.max_bits, operand.scales.underflows},
        step(std::int64_t{operand.batches} * operand.scales_pitch) {
    const std::int64_t at = std::int64_t{operand.batches == 1 ? 0 : batch} * operand.scales_pitch + index;
    first.max_bits += at;
    first.underflows += at;
  }
};

/// By what a K slice's sums are to be multiplied, to be in units of the largest element of all slices.
[[nodiscard]] __device__ float slice_factor(unsigned max_bits, unsigned most_bits) {
  return power_not_zero(scale_exponent<Fp16x3>(most_bits) - scale_exponent<Fp16x3>(max_bits));
}

/// What a K slice's tiny elements weigh beside the largest element of all slices: one more if the slice might
/// underflow.
[[nodiscard]] __device__ float slice_weight(unsigned max_bits, unsigned underflows, float factor) {
  if (underflows == lost_scale) return __builtin_inff();
  return static_cast<float>(underflows) * factor + (max_bits != 0 && factor < most_shrink ? 1.0f : 0.0f);
}

/// As the scale of a row or column taken as a whole.
[[nodiscard]] __device__ PackedScale merged_scale(unsigned most_bits, float weight, float underflow_scale) {
  return packed_scale<Fp16x3>(most_bits, __float2uint_ru(weight), underflow_scale);
}

/// What the slices' sums are multiplied by comes after it: [K slice][column] for columns, [warp][K slice] for rows.
template <int per_lane>
struct alignas(16) ReduceScratch {
  static constexpr int warp_columns = 32 * per_lane;
  static constexpr int sharing = threads / warp_columns;  ///< threads to a column
  unsigned most[sharing][warp_columns];
  float weight[sharing][warp_columns];
  PackedScale column[warp_columns];

  [[nodiscard]] static int bytes(bool slices_have_row_scales, bool slices_have_column_scales, int split_k) {
    const int factors = (slices_have_column_scales ? warp_columns : 0) + (slices_have_row_scales ? warps : 0);
    return factors == 0 ? 0 : static_cast<int>(sizeof(ReduceScratch) + sizeof(float) * factors * split_k);
  }
};

/// A CTA has some columns of some rows; `sharing` warps have the same row, and K slices by turns.
template <class Slices, bool slices_have_row_scales, bool slices_have_column_scales, int per_lane>
__global__ void __launch_bounds__(threads) splitk_reduce(const __grid_constant__ SplitKReduce p, int sharing) {
  const SplitKPartials& partials = p.partials;
  extern __shared__ __align__(16) std::byte dynamic[];
  using Space = ReduceScratch<per_lane>;
  constexpr int warp_columns = Space::warp_columns;
  constexpr int in_flight = 16 / per_lane;  // K slices
  auto& space = *reinterpret_cast<Space*>(dynamic);
  auto* const column_factor = reinterpret_cast<float*>(dynamic + sizeof(Space));
  __shared__ float shared_sums[warps][warp_columns];
  __shared__ FixupList<warps * warp_columns> listed;
  if (threadIdx.x == 0) listed.count = 0;
  __syncthreads();
  isa::wait_for_kernel_before();
  const Output& c = p.out;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float* const own_row_factor =
      column_factor + (slices_have_column_scales ? partials.split_k * warp_columns : 0) + warp * partials.split_k;
  const int row_groups = (c.rows * sharing + warps - 1) / warps;
  const int column_groups = (c.columns + warp_columns - 1) / warp_columns;
  const int batch = static_cast<int>(blockIdx.x / (std::int64_t{row_groups} * column_groups));
  const int in_batch = static_cast<int>(blockIdx.x % (std::int64_t{row_groups} * column_groups));
  const int first_row = in_batch / column_groups * warps / sharing;
  const int i = first_row + warp / sharing;
  const int column0 = in_batch % column_groups * warp_columns;
  const bool is_there = i < c.rows;
  const int first_column = column0 + lane;
  const int elements = is_there ? (c.columns - first_column + 31) / 32 : 0;  // may be negative

  if constexpr (slices_have_column_scales) {
    // Several threads to a column, each with K slices in strides.
    const int j = static_cast<int>(threadIdx.x) % warp_columns;
    const int share = static_cast<int>(threadIdx.x) / warp_columns;
    const SliceScales scales(p.operands.b, batch, min(column0 + j, c.columns - 1));
    unsigned most = 0;
#pragma unroll 16
    for (int k_slice = share; k_slice < partials.split_k; k_slice += Space::sharing)
      most = max(most, scales.first.max_bits[k_slice * scales.step]);
    space.most[share][j] = most;
    __syncthreads();
#pragma unroll
    for (int other = 0; other < Space::sharing; ++other) most = max(most, space.most[other][j]);
    float weight = 0;
#pragma unroll 8
    for (int k_slice = share; k_slice < partials.split_k; k_slice += Space::sharing) {
      const unsigned bits = scales.first.max_bits[k_slice * scales.step];
      const float factor = slice_factor(bits, most);
      weight += slice_weight(bits, scales.first.underflows[k_slice * scales.step], factor);
      column_factor[k_slice * warp_columns + j] = factor;
    }
    space.weight[share][j] = weight;
    __syncthreads();
    if (share == 0) {
#pragma unroll
      for (int other = 1; other < Space::sharing; ++other) weight += space.weight[other][j];
      space.column[j] = merged_scale(most, weight, p.underflow_scale);
    }
  }
  PackedScale row = exact_error;
  if (is_there) {
    const SliceScales scales(p.operands.a, batch, i);
    if constexpr (slices_have_row_scales) {
      unsigned most = 0;
      for (int k_slice = lane; k_slice < partials.split_k; k_slice += 32)
        most = max(most, scales.first.max_bits[k_slice * scales.step]);
      most = __reduce_max_sync(~0u, most);
      float weight = 0;
      for (int k_slice = lane; k_slice < partials.split_k; k_slice += 32) {
        const unsigned bits = scales.first.max_bits[k_slice * scales.step];
        const float factor = slice_factor(bits, most);
        weight += slice_weight(bits, scales.first.underflows[k_slice * scales.step], factor);
        own_row_factor[k_slice] = factor;
      }
      for (int step = 16; step > 0; step /= 2) weight += __shfl_xor_sync(~0u, weight, step);
      row = merged_scale(most, weight, p.underflow_scale);
    } else {
      row = packed_scale<Slices>(scales.first.max_bits[0], scales.first.underflows[0], p.underflow_scale);
    }
  }
  if constexpr (slices_have_column_scales) __syncthreads();
  __syncwarp();

  const std::int64_t slice_size = std::int64_t{c.rows} * p.batches * partials.pitch;
  const float* from = partials.data + (std::int64_t{batch} * c.rows + i) * partials.pitch + first_column;
  float sums[per_lane] = {};
  from += warp % sharing * slice_size;
  for (int first = warp % sharing; first < partials.split_k; first += in_flight * sharing) {
    float added[in_flight][per_lane];
#pragma unroll
    for (int i = 0; i < in_flight; ++i, from += sharing * slice_size)
#pragma unroll
      for (int e = 0; e < per_lane; ++e)
        added[i][e] = e < elements && first + i * sharing < partials.split_k ? from[32 * e] : 0.0f;
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const int k_slice = first + i * sharing;
      if (k_slice >= partials.split_k) break;
      const float row_factor = slices_have_row_scales ? own_row_factor[k_slice] : 1.0f;
#pragma unroll
      for (int e = 0; e < per_lane; ++e) {
        const float factor = slices_have_column_scales ? column_factor[k_slice * warp_columns + lane + 32 * e] : 1.0f;
        sums[e] = fmaf(added[i][e] * row_factor, factor, sums[e]);
      }
    }
  }
  if (sharing > 1) {
#pragma unroll
    for (int e = 0; e < per_lane; ++e) shared_sums[warp][lane + 32 * e] = sums[e];
    __syncthreads();
    if (warp % sharing == 0)
      for (int other = warp + 1; other < warp + sharing; ++other)
#pragma unroll
        for (int e = 0; e < per_lane; ++e) sums[e] += shared_sums[other][lane + 32 * e];
  }

  float* const to = product_base(c.data, c.layout, batch);
  if (warp % sharing == 0)
#pragma unroll
    for (int e = 0; e < per_lane; ++e) {
      if (e >= elements) break;
      const int j = first_column + 32 * e;
      PackedScale column;
      if constexpr (slices_have_column_scales) {
        column = space.column[lane + 32 * e];
      } else {
        const SliceScales scales(p.operands.b, batch, j);
        column = packed_scale<Slices>(scales.first.max_bits[0], scales.first.underflows[0], p.underflow_scale);
      }
      if (needs_f32_sum(sums[e], row, column)) {
        listed.add(i - first_row, j - column0);
      } else {
        c.epilogue.store(to + i * c.layout.row_stride + j * c.layout.column_stride, scaled_back(sums[e], row, column),
                         i, j);
      }
    }
  __syncthreads();
  if (listed.count == 0) return;
  if (threadIdx.x == 0) count_f32_sums(c, listed.count);
  sum_fixup_list<warps>(listed, p.operands, batch, first_row, column0, [&](int row_of_c, int column_of_c, float sum) {
    c.epilogue.store(to + row_of_c * c.layout.row_stride + column_of_c * c.layout.column_stride, sum, row_of_c,
                     column_of_c);
  });
}

template <bool slices_have_row_scales, bool slices_have_column_scales, int per_lane>
[[nodiscard]] Status enqueue(const SplitKReduce& p, cudaStream_t stream) {
  using Space = ReduceScratch<per_lane>;
  const auto kernel = splitk_reduce<Fp16x3, slices_have_row_scales, slices_have_column_scales, per_lane>;
  const int sharing =
      std::clamp(static_cast<int>(std::bit_floor(static_cast<unsigned>(p.partials.split_k) / 4)), 1, warps);
  const std::int64_t ctas = (std::int64_t{p.out.rows} * sharing + warps - 1) / warps *
                            ((p.out.columns + Space::warp_columns - 1) / Space::warp_columns) * p.batches;
  if (Status s = allow_shared_memory(
          kernel, Space::bytes(slices_have_row_scales, slices_have_column_scales, most_k_slices), "splitk_reduce");
      !s.ok())
    return s;
  return check(launch_early(true, kernel, static_cast<unsigned>(ctas), threads,
                            Space::bytes(slices_have_row_scales, slices_have_column_scales, p.partials.split_k), stream,
                            p, sharing),
               "launch", "splitk_reduce");
}

}  // namespace

Status enqueue_splitk_reduce(const SplitKReduce& p, cudaStream_t stream) {
  const bool slices_have_row_scales = p.operands.a.split_k > 1;
  const bool slices_have_column_scales = p.operands.b.split_k > 1;
  const auto chosen = slices_have_row_scales && slices_have_column_scales
                          ? p.partials.split_k > many_slices ? enqueue<true, true, many_slices_per_lane>
                                                             : enqueue<true, true, few_slices_per_lane>
                      : slices_have_row_scales    ? enqueue<true, false, few_slices_per_lane>
                      : slices_have_column_scales ? enqueue<false, true, few_slices_per_lane>
                                                  : enqueue<false, false, few_slices_per_lane>;
  return chosen(p, stream);
}

double splitk_reduce_bytes(const GemmDescription& d, int split_k) {
  return 4.0 * (split_k + 1) * static_cast<double>(d.m * d.n * d.batch_count);
}

}  // namespace exactile::cuda::sm90
