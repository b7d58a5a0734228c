// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/combine.hpp"

#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::sm90 {
namespace {

constexpr int threads = 256;
constexpr int per_lane = 4;  // elements of one row, 32 columns apart
constexpr int warp_columns = 32 * per_lane;

template <class Slices>
__global__ void __launch_bounds__(threads) combine(const __grid_constant__ GemmParameters p, const Partials partials) {
  isa::wait_for_kernel_before();
  const Output& c = p.out;
  const std::int64_t column_groups = (c.columns + warp_columns - 1) / warp_columns;
  const std::int64_t unit = (blockIdx.x * std::int64_t{threads} + threadIdx.x) / 32;
  const std::int64_t line = unit / column_groups;  // rows of all products
  if (line >= std::int64_t{c.rows} * p.order.batches) return;
  const int batch = static_cast<int>(line / c.rows);
  const int i = static_cast<int>(line % c.rows);
  const int first_column = static_cast<int>(unit % column_groups) * warp_columns + static_cast<int>(threadIdx.x) % 32;

  const std::int64_t part_size = std::int64_t{c.rows} * p.order.batches * partials.pitch;
  const float* from = partials.data + line * partials.pitch;
  float sums[per_lane] = {};
  for (int part = 0; part < partials.parts; ++part, from += part_size)
#pragma unroll
    for (int e = 0; e < per_lane; ++e)
      if (first_column + 32 * e < c.columns) sums[e] += from[first_column + 32 * e];

  const LineFacts row_facts = facts_of(p.operands.a, batch);
  const LineFacts column_facts = facts_of(p.operands.b, batch);
  const Line row = line_of<Slices>(row_facts.max_bits[i], row_facts.tiny[i], p.tiny_scale);
  float* to = product_base(c.data, c.layout, batch) + i * c.layout.row_stride;
#pragma unroll
  for (int e = 0; e < per_lane; ++e) {
    const int j = first_column + 32 * e;
    const bool is_inside = j < c.columns;
    const Line column =
        is_inside ? line_of<Slices>(column_facts.max_bits[j], column_facts.tiny[j], p.tiny_scale) : exact_error;
    float sum = scaled_back(sums[e], row, column);
    unsigned doubtful = __ballot_sync(~0u, is_inside && is_doubtful(sums[e], row, column));
    if (doubtful != 0 && threadIdx.x % 32 == 0) count_summed(c, doubtful);
    for (; doubtful != 0; doubtful &= doubtful - 1) {
      const int lane = __ffs(static_cast<int>(doubtful)) - 1;
      const float summed = warp_sum(p.operands, batch, i, __shfl_sync(~0u, j, lane));
      if (static_cast<int>(threadIdx.x) % 32 == lane) sum = summed;
    }
    if (is_inside) c.epilogue.store(to + j * c.layout.column_stride, sum, i, j);
  }
}

}  // namespace

Status enqueue_combine(const GemmParameters& p, const Partials& partials, cudaStream_t stream) {
  const std::int64_t warps =
      (p.out.columns + warp_columns - 1) / warp_columns * (std::int64_t{p.out.rows} * p.order.batches);
  const std::int64_t ctas = (warps * 32 + threads - 1) / threads;
  return check(launch_early(true, combine<Fp16x3>, static_cast<unsigned>(ctas), threads, 0, stream, p, partials),
               "launch", "combine");
}

double combine_seconds(const GemmDescription& d, int parts, const Device& device) {
  const double bytes = 4.0 * (parts + 1) * static_cast<double>(d.m * d.n * d.batch_count);
  return bytes / (0.5 * device.memory_bytes_per_second);
}

}  // namespace exactile::cuda::sm90
