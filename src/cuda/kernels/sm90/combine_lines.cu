// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/combine.hpp"

#include <algorithm>
#include <bit>

#include "cuda/kernels/sm90/register_split.cuh"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::sm90 {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr int per_lane = 4;  // elements of one row, 32 columns apart
constexpr int warp_columns = 32 * per_lane;

/// The facts of a row or column in some parts of K, and what they are together.
struct PartFacts {
  LineFacts first;
  std::int64_t step;

  __device__ PartFacts(const SplitOperand& operand, int batch, std::int64_t index)
      : first{operand.facts.max_bits, operand.facts.tiny}, step(std::int64_t{operand.batches} * operand.facts_pitch) {
    const std::int64_t at = std::int64_t{operand.batches == 1 ? 0 : batch} * operand.facts_pitch + index;
    first.max_bits += at;
    first.tiny += at;
  }
};

/// By what a part's sums are to be multiplied, to be in units of the largest element of all parts.
[[nodiscard]] __device__ float part_factor(unsigned max_bits, unsigned most_bits) {
  return power_not_zero(scale_exponent<Fp16x3>(most_bits) - scale_exponent<Fp16x3>(max_bits));
}

/// What a part's tiny elements weigh beside the largest element of all parts: one more if the part might underflow.
[[nodiscard]] __device__ float part_weight(unsigned max_bits, unsigned tiny, float factor) {
  if (tiny == lost_line) return __builtin_inff();
  return static_cast<float>(tiny) * factor + (max_bits != 0 && factor < most_shrink ? 1.0f : 0.0f);
}

/// As the facts of a line taken as a whole.
[[nodiscard]] __device__ Line merged_line(unsigned most_bits, float weight, float tiny_scale) {
  return line_of<Fp16x3>(most_bits, __float2uint_ru(weight), tiny_scale);
}

struct alignas(16) CombineSpace {
  float column_factor[most_parts][warp_columns];
  float row_factor[warps][most_parts];
  unsigned most[2][warp_columns];
  float weight[2][warp_columns];
  Line column[warp_columns];
};

static_assert(sizeof(CombineSpace) + sizeof(float) * warps * warp_columns <= 48 << 10, "what every launch may have");

/// Whether an element must be summed from A and B. Slices of an infinite error may have made a NaN where none is.
[[nodiscard]] __device__ bool is_summed(float sum, Line row, Line column) {
  return is_doubtful(sum, row, column) || fmaxf(error_of(row), error_of(column)) == __builtin_inff();
}

/// A CTA has 128 columns of some rows; `sharing` warps have the same row, and parts of K by turns.
template <class Slices, bool row_parts, bool column_parts>
__global__ void __launch_bounds__(threads)
    combine_lines(const __grid_constant__ GemmParameters p, const Partials partials, int sharing) {
  extern __shared__ __align__(16) std::byte dynamic[];
  auto& space = *reinterpret_cast<CombineSpace*>(dynamic);
  __shared__ float shared_sums[warps][warp_columns];
  isa::wait_for_kernel_before();
  const Output& c = p.out;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row_groups = (c.rows * sharing + warps - 1) / warps;
  const int column_groups = (c.columns + warp_columns - 1) / warp_columns;
  const int batch = static_cast<int>(blockIdx.x / (std::int64_t{row_groups} * column_groups));
  const int in_batch = static_cast<int>(blockIdx.x % (std::int64_t{row_groups} * column_groups));
  const int i = (in_batch / column_groups * warps + warp) / sharing;
  const int column0 = in_batch % column_groups * warp_columns;
  const bool is_there = i < c.rows;
  const int first_column = column0 + lane;
  const int elements = is_there ? (c.columns - first_column + 31) / 32 : 0;  // may be negative

  if constexpr (column_parts) {
    // Two threads to a column, each with every other part.
    const int j = static_cast<int>(threadIdx.x) % warp_columns;
    const int half = static_cast<int>(threadIdx.x) / warp_columns;
    const PartFacts facts(p.operands.b, batch, min(column0 + j, c.columns - 1));
    unsigned most = 0;
#pragma unroll 16
    for (int part = half; part < partials.parts; part += 2) most = max(most, facts.first.max_bits[part * facts.step]);
    space.most[half][j] = most;
    __syncthreads();
    most = max(space.most[0][j], space.most[1][j]);
    float weight = 0;
#pragma unroll 8
    for (int part = half; part < partials.parts; part += 2) {
      const unsigned bits = facts.first.max_bits[part * facts.step];
      const float factor = part_factor(bits, most);
      weight += part_weight(bits, facts.first.tiny[part * facts.step], factor);
      space.column_factor[part][j] = factor;
    }
    space.weight[half][j] = weight;
    __syncthreads();
    if (half == 0) space.column[j] = merged_line(most, space.weight[0][j] + space.weight[1][j], p.tiny_scale);
  }
  Line row = exact_error;
  if (is_there) {
    const PartFacts facts(p.operands.a, batch, i);
    if constexpr (row_parts) {
      unsigned most = 0;
      for (int part = lane; part < partials.parts; part += 32)
        most = max(most, facts.first.max_bits[part * facts.step]);
      most = __reduce_max_sync(~0u, most);
      float weight = 0;
      for (int part = lane; part < partials.parts; part += 32) {
        const unsigned bits = facts.first.max_bits[part * facts.step];
        const float factor = part_factor(bits, most);
        weight += part_weight(bits, facts.first.tiny[part * facts.step], factor);
        space.row_factor[warp][part] = factor;
      }
      for (int step = 16; step > 0; step /= 2) weight += __shfl_xor_sync(~0u, weight, step);
      row = merged_line(most, weight, p.tiny_scale);
    } else {
      row = line_of<Slices>(facts.first.max_bits[0], facts.first.tiny[0], p.tiny_scale);
    }
  }
  if constexpr (column_parts) __syncthreads();
  __syncwarp();

  const std::int64_t part_size = std::int64_t{c.rows} * p.order.batches * partials.pitch;
  const float* from = partials.data + (std::int64_t{batch} * c.rows + i) * partials.pitch + first_column;
  float sums[per_lane] = {};
#pragma unroll 4
  for (int part = warp % sharing; part < partials.parts; part += sharing) {
    const float row_factor = row_parts ? space.row_factor[warp][part] : 1.0f;
#pragma unroll
    for (int e = 0; e < per_lane; ++e) {
      const float added = e < elements ? from[part * part_size + 32 * e] : 0.0f;
      const float factor = column_parts ? space.column_factor[part][lane + 32 * e] : 1.0f;
      sums[e] = fmaf(added * row_factor, factor, sums[e]);
    }
  }
  if (sharing > 1) {
#pragma unroll
    for (int e = 0; e < per_lane; ++e) shared_sums[warp][lane + 32 * e] = sums[e];
    __syncthreads();
    if (warp % sharing != 0) return;
    for (int other = warp + 1; other < warp + sharing; ++other)
#pragma unroll
      for (int e = 0; e < per_lane; ++e) sums[e] += shared_sums[other][lane + 32 * e];
  }
  if (!is_there) return;

  float* to = product_base(c.data, c.layout, batch) + i * c.layout.row_stride;
#pragma unroll
  for (int e = 0; e < per_lane; ++e) {
    const int j = first_column + 32 * e;
    const bool is_inside = e < elements;
    Line column = exact_error;
    if (is_inside) {
      if constexpr (column_parts) {
        column = space.column[lane + 32 * e];
      } else {
        const PartFacts facts(p.operands.b, batch, j);
        column = line_of<Slices>(facts.first.max_bits[0], facts.first.tiny[0], p.tiny_scale);
      }
    }
    float sum = scaled_back(sums[e], row, column);
    unsigned doubtful = __ballot_sync(~0u, is_inside && is_summed(sums[e], row, column));
    if (doubtful != 0 && lane == 0) count_summed(c, doubtful);
    for (; doubtful != 0; doubtful &= doubtful - 1) {
      const int from_lane = __ffs(static_cast<int>(doubtful)) - 1;
      const float summed = warp_sum(p.operands, batch, i, __shfl_sync(~0u, j, from_lane));
      if (lane == from_lane) sum = summed;
    }
    if (is_inside) c.epilogue.store(to + j * c.layout.column_stride, sum, i, j);
  }
}

}  // namespace

Status enqueue_combine_lines(const GemmParameters& p, const Partials& partials, cudaStream_t stream) {
  const int sharing = std::clamp(static_cast<int>(std::bit_floor(static_cast<unsigned>(partials.parts) / 4)), 1, warps);
  const std::int64_t ctas = (std::int64_t{p.out.rows} * sharing + warps - 1) / warps *
                            ((p.out.columns + warp_columns - 1) / warp_columns) * p.order.batches;
  const bool row_parts = p.operands.a.parts > 1;
  const bool column_parts = p.operands.b.parts > 1;
  const auto kernel = row_parts ? column_parts ? combine_lines<Fp16x3, true, true> : combine_lines<Fp16x3, true, false>
                      : column_parts ? combine_lines<Fp16x3, false, true>
                                     : combine_lines<Fp16x3, false, false>;
  const int shared_bytes = row_parts || column_parts ? sizeof(CombineSpace) : 0;
  return check(
      launch_early(true, kernel, static_cast<unsigned>(ctas), threads, shared_bytes, stream, p, partials, sharing),
      "launch", "combine_lines");
}

}  // namespace exactile::cuda::sm90
