// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/combine.hpp"

#include <algorithm>
#include <bit>

#include "cuda/kernels/sm90/listed_sums.cuh"
#include "cuda/kernels/sm90/register_split.cuh"
#include "cuda/runtime/shared_memory.hpp"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::sm90 {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;
/// Elements of one row that a lane has, 32 columns apart: few where parts are many, so that CTAs are.
constexpr int few_parts_per_lane = 4;
constexpr int many_parts_per_lane = 1;
constexpr int many_parts = 32;  // and less are few

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

/// What parts' sums are multiplied by comes after it: [part][column] for columns, [warp][part] for rows.
template <int per_lane>
struct alignas(16) CombineSpace {
  static constexpr int warp_columns = 32 * per_lane;
  static constexpr int sharing = threads / warp_columns;  ///< threads to a column
  unsigned most[sharing][warp_columns];
  float weight[sharing][warp_columns];
  Line column[warp_columns];

  [[nodiscard]] static int bytes(bool row_parts, bool column_parts, int parts) {
    const int factors = (column_parts ? warp_columns : 0) + (row_parts ? warps : 0);
    return factors == 0 ? 0 : static_cast<int>(sizeof(CombineSpace) + sizeof(float) * factors * parts);
  }
};

/// A CTA has some columns of some rows; `sharing` warps have the same row, and parts of K by turns.
template <class Slices, bool row_parts, bool column_parts, int per_lane>
__global__ void __launch_bounds__(threads)
    combine_lines(const __grid_constant__ GemmParameters p, const Partials partials, int sharing) {
  extern __shared__ __align__(16) std::byte dynamic[];
  using Space = CombineSpace<per_lane>;
  constexpr int warp_columns = Space::warp_columns;
  constexpr int in_flight = 16 / per_lane;  // parts
  auto& space = *reinterpret_cast<Space*>(dynamic);
  auto* const column_factor = reinterpret_cast<float*>(dynamic + sizeof(Space));
  __shared__ float shared_sums[warps][warp_columns];
  __shared__ ListedSums<warps * warp_columns> listed;
  if (threadIdx.x == 0) listed.count = 0;
  __syncthreads();
  isa::wait_for_kernel_before();
  const Output& c = p.out;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float* const own_row_factor =
      column_factor + (column_parts ? partials.parts * warp_columns : 0) + warp * partials.parts;
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

  if constexpr (column_parts) {
    // Several threads to a column, each with every so-manieth part.
    const int j = static_cast<int>(threadIdx.x) % warp_columns;
    const int share = static_cast<int>(threadIdx.x) / warp_columns;
    const PartFacts facts(p.operands.b, batch, min(column0 + j, c.columns - 1));
    unsigned most = 0;
#pragma unroll 16
    for (int part = share; part < partials.parts; part += Space::sharing)
      most = max(most, facts.first.max_bits[part * facts.step]);
    space.most[share][j] = most;
    __syncthreads();
#pragma unroll
    for (int other = 0; other < Space::sharing; ++other) most = max(most, space.most[other][j]);
    float weight = 0;
#pragma unroll 8
    for (int part = share; part < partials.parts; part += Space::sharing) {
      const unsigned bits = facts.first.max_bits[part * facts.step];
      const float factor = part_factor(bits, most);
      weight += part_weight(bits, facts.first.tiny[part * facts.step], factor);
      column_factor[part * warp_columns + j] = factor;
    }
    space.weight[share][j] = weight;
    __syncthreads();
    if (share == 0) {
#pragma unroll
      for (int other = 1; other < Space::sharing; ++other) weight += space.weight[other][j];
      space.column[j] = merged_line(most, weight, p.tiny_scale);
    }
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
        own_row_factor[part] = factor;
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
  from += warp % sharing * part_size;
  for (int first = warp % sharing; first < partials.parts; first += in_flight * sharing) {
    float added[in_flight][per_lane];
#pragma unroll
    for (int i = 0; i < in_flight; ++i, from += sharing * part_size)
#pragma unroll
      for (int e = 0; e < per_lane; ++e)
        added[i][e] = e < elements && first + i * sharing < partials.parts ? from[32 * e] : 0.0f;
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const int part = first + i * sharing;
      if (part >= partials.parts) break;
      const float row_factor = row_parts ? own_row_factor[part] : 1.0f;
#pragma unroll
      for (int e = 0; e < per_lane; ++e) {
        const float factor = column_parts ? column_factor[part * warp_columns + lane + 32 * e] : 1.0f;
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
      Line column;
      if constexpr (column_parts) {
        column = space.column[lane + 32 * e];
      } else {
        const PartFacts facts(p.operands.b, batch, j);
        column = line_of<Slices>(facts.first.max_bits[0], facts.first.tiny[0], p.tiny_scale);
      }
      if (is_summed(sums[e], row, column)) {
        listed.add(i - first_row, j - column0);
      } else {
        c.epilogue.store(to + i * c.layout.row_stride + j * c.layout.column_stride, scaled_back(sums[e], row, column),
                         i, j);
      }
    }
  __syncthreads();
  if (listed.count == 0) return;
  if (threadIdx.x == 0) count_summed(c, listed.count);
  sum_listed<warps>(listed, p.operands, batch, first_row, column0, [&](int row_of_c, int column_of_c, float sum) {
    c.epilogue.store(to + row_of_c * c.layout.row_stride + column_of_c * c.layout.column_stride, sum, row_of_c,
                     column_of_c);
  });
}

template <bool row_parts, bool column_parts, int per_lane>
[[nodiscard]] Status enqueue(const GemmParameters& p, const Partials& partials, cudaStream_t stream) {
  using Space = CombineSpace<per_lane>;
  const auto kernel = combine_lines<Fp16x3, row_parts, column_parts, per_lane>;
  const int sharing = std::clamp(static_cast<int>(std::bit_floor(static_cast<unsigned>(partials.parts) / 4)), 1, warps);
  const std::int64_t ctas = (std::int64_t{p.out.rows} * sharing + warps - 1) / warps *
                            ((p.out.columns + Space::warp_columns - 1) / Space::warp_columns) * p.order.batches;
  if (Status s = allow_shared_memory(kernel, Space::bytes(row_parts, column_parts, most_parts), "combine_lines");
      !s.ok())
    return s;
  return check(launch_early(true, kernel, static_cast<unsigned>(ctas), threads,
                            Space::bytes(row_parts, column_parts, partials.parts), stream, p, partials, sharing),
               "launch", "combine_lines");
}

}  // namespace

Status enqueue_combine_lines(const GemmParameters& p, const Partials& partials, cudaStream_t stream) {
  const bool row_parts = p.operands.a.parts > 1;
  const bool column_parts = p.operands.b.parts > 1;
  const auto chosen = row_parts && column_parts ? partials.parts > many_parts ? enqueue<true, true, many_parts_per_lane>
                                                                              : enqueue<true, true, few_parts_per_lane>
                      : row_parts ? enqueue<true, false, few_parts_per_lane>
                      : column_parts            ? enqueue<false, true, few_parts_per_lane>
                                                : enqueue<false, false, few_parts_per_lane>;
  return chosen(p, partials, stream);
}

double combined_bytes(const GemmDescription& d, int parts) {
  return 4.0 * (parts + 1) * static_cast<double>(d.m * d.n * d.batch_count);
}

}  // namespace exactile::cuda::sm90
