// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/combine.hpp"

#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::sm90 {
namespace {

constexpr int threads = 128;
constexpr int per_thread = 4;      // neighbouring elements of one row, 16 bytes of each part
constexpr int parts_together = 4;  // whose loads are in flight at a time

/// Facts of four neighbouring columns. Those behind the last are there too, and are zero.
[[nodiscard]] __device__ inline uint4 four_of(const unsigned* facts, int column) {
  return *reinterpret_cast<const uint4*>(facts + column);
}

template <class Slices>
__global__ void __launch_bounds__(threads) combine(const __grid_constant__ GemmParameters p, const Partials partials) {
  const Output& c = p.out;
  const unsigned groups = (static_cast<unsigned>(c.columns) + per_thread - 1) / per_thread;
  const unsigned unit = blockIdx.x * threads + threadIdx.x;
  const unsigned line = unit / groups;  // rows of all products
  const auto rows = static_cast<unsigned>(c.rows);
  const unsigned lines = rows * static_cast<unsigned>(p.order.batches);
  const bool is_there = line < lines;
  const int batch = is_there ? static_cast<int>(line / rows) : 0;
  const int i = is_there ? static_cast<int>(line % rows) : 0;
  const int first_column = is_there ? static_cast<int>(unit % groups) * per_thread : 0;
  const LineFacts row_facts = facts_of(p.operands.a, batch);
  const LineFacts column_facts = facts_of(p.operands.b, batch);
  const std::int64_t part_size = std::int64_t{lines} * partials.pitch;
  const float* from = partials.data + std::int64_t{is_there ? line : 0} * partials.pitch + first_column;
  isa::wait_for_kernel_before();

  const unsigned row_bits = row_facts.max_bits[i];
  const unsigned row_tiny = row_facts.tiny[i];
  const uint4 bits = four_of(column_facts.max_bits, first_column);
  const uint4 tiny = four_of(column_facts.tiny, first_column);
  float sums[per_thread] = {};
  for (int first = 0; first < partials.parts; first += parts_together, from += parts_together * part_size) {
    float4 added[parts_together];
#pragma unroll
    for (int part = 0; part < parts_together; ++part)
      if (first + part < partials.parts) added[part] = *reinterpret_cast<const float4*>(from + part * part_size);
#pragma unroll
    for (int part = 0; part < parts_together; ++part) {
      if (first + part >= partials.parts) break;
      sums[0] += added[part].x;
      sums[1] += added[part].y;
      sums[2] += added[part].z;
      sums[3] += added[part].w;
    }
  }

  const Line row = line_of<Slices>(row_bits, row_tiny, p.tiny_scale);
  float* to = product_base(c.data, c.layout, batch) + i * c.layout.row_stride;
#pragma unroll
  for (int e = 0; e < per_thread; ++e) {
    const int j = first_column + e;
    const bool is_inside = is_there && j < c.columns;
    const auto of_e = [e](const uint4& x) { return e == 0 ? x.x : e == 1 ? x.y : e == 2 ? x.z : x.w; };
    const Line column = line_of<Slices>(of_e(bits), of_e(tiny), p.tiny_scale);
    float sum = scaled_back(sums[e], row, column);
    unsigned doubtful = __ballot_sync(~0u, is_inside && is_doubtful(sums[e], row, column));
    if (doubtful != 0 && threadIdx.x % 32 == 0) count_summed(c, doubtful);
    for (; doubtful != 0; doubtful &= doubtful - 1) {
      const int lane = __ffs(static_cast<int>(doubtful)) - 1;
      const float summed =
          warp_sum(p.operands, __shfl_sync(~0u, batch, lane), __shfl_sync(~0u, i, lane), __shfl_sync(~0u, j, lane));
      if (static_cast<int>(threadIdx.x) % 32 == lane) sum = summed;
    }
    if (is_inside) c.epilogue.store(to + j * c.layout.column_stride, sum, i, j);
  }
}

}  // namespace

Status enqueue_combine(const GemmParameters& p, const Partials& partials, cudaStream_t stream) {
  const std::int64_t units = std::int64_t{(p.out.columns + per_thread - 1) / per_thread} * p.out.rows * p.order.batches;
  const std::int64_t ctas = (units + threads - 1) / threads;
  return check(launch_early(true, combine<Fp16x3>, static_cast<unsigned>(ctas), threads, 0, stream, p, partials),
               "launch", "combine");
}

double combine_seconds(const GemmDescription& d, int parts, const Device& device) {
  const double bytes = 4.0 * (parts + 1) * static_cast<double>(d.m * d.n * d.batch_count);
  return bytes / (0.5 * device.memory_bytes_per_second);
}

}  // namespace exactile::cuda::sm90
