// SPDX-License-Identifier: Apache-2.0
/// \file
/// What becomes of the sums of a chunk (see summation_order.hpp): they are added to the running totals, which lie in C
/// where C's type is the one that sums, or, with split-K, kept apart and added up by a second kernel.
#pragma once

#include <algorithm>

#include "cuda/kernels/simt/parameters.cuh"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::simt {

/// So many neighbours that they fill 16 bytes.
template <class Accumulator, int N = 16 / sizeof(Accumulator)>
struct alignas(N * sizeof(Accumulator)) Pack {
  Accumulator at[N];
};

/// A matrix of sums in memory.
template <class Accumulator>
struct AccumulatorMatrix {
  Accumulator* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

/// Where the running totals (or, with split-K, the sums of `chunk`) of a product lie.
template <class In, class Out>
__device__ inline AccumulatorMatrix<DeviceAccumulator<In>> totals_of(const Parameters<In, Out>& p, std::int64_t product,
                                                                     std::int64_t chunk) {
  const GemmDescription& d = p.d;
  if (p.division.split_k > 1) return {p.sums + (product * p.division.chunks + chunk) * d.m * d.n, d.n, 1};
  if constexpr (std::is_same_v<Out, DeviceAccumulator<In>>) {
    return {product_base(p.c, d.c, product), d.c.row_stride, d.c.column_stride};
  } else {
    return {p.sums + product * d.m * d.n, d.n, 1};
  }
}

/// The total of an element after its first chunk; `before` is what C held.
template <class In, class Out>
__device__ inline DeviceAccumulator<In> first_total(const Epilogue<In, Out>& epilogue, DeviceAccumulator<In> sum,
                                                    DeviceAccumulator<In> before) {
  if (!epilogue.reads_c) return scaled(epilogue.alpha, sum);
  return add_scaled(epilogue.alpha, sum, scaled(epilogue.beta, before));
}

inline constexpr int reduce_threads = 64;

/// Adds up the chunks of each element and finishes it; one thread an element.
template <class In, class Out>
__global__ void __launch_bounds__(reduce_threads) splitk_reduce_kernel(const __grid_constant__ Parameters<In, Out> p) {
  using Accumulator = DeviceAccumulator<In>;
  const GemmDescription& d = p.d;
  const std::int64_t elements = d.m * d.n;
  wait_for_kernel_before();
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       index < elements * d.batch_count; index += stride) {
    const std::int64_t product = index / elements;
    const std::int64_t element = index - product * elements;
    const std::int64_t i = element / d.n;
    const std::int64_t j = element - i * d.n;
    Out* const place = product_base(p.c, d.c, product) + i * d.c.row_stride + j * d.c.column_stride;
    const Accumulator* const sums = p.sums + product * p.division.chunks * elements + element;
    Accumulator x = first_total(p.epilogue, sums[0], p.epilogue.reads_c ? p.epilogue.load_c(place) : Accumulator{});
#pragma unroll 32
    for (std::int64_t chunk = 1; chunk < p.division.chunks; ++chunk)
      x = add_scaled(p.epilogue.alpha, sums[chunk * elements], x);
    *place = narrow<Out>(p.epilogue.finish(x, i, j));
  }
}

template <class In, class Out>
cudaError_t enqueue_splitk_reduce(const Parameters<In, Out>& p, bool can_start_early, cudaStream_t stream) {
  constexpr std::int64_t most_blocks = 1 << 20;
  const std::int64_t elements = p.d.m * p.d.n * p.d.batch_count;
  const std::int64_t blocks = std::min((elements - 1) / reduce_threads + 1, most_blocks);
  return launch_early(can_start_early, splitk_reduce_kernel<In, Out>, static_cast<unsigned>(blocks), reduce_threads, 0,
                      stream, p);
}

}  // namespace exactile::cuda::simt
