// SPDX-License-Identifier: Apache-2.0
/// \file
/// Adds the partial sums of the chunks of K to C, in order, as a block that takes all chunks of a tile would.
#pragma once

#include "cuda/kernels/dmma/parameters.cuh"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::dmma {

inline constexpr int reduce_threads = 128;

__global__ void __launch_bounds__(reduce_threads) reduce_kernel(const __grid_constant__ Parameters w) {
  wait_for_kernel_before();
  const std::int64_t elements = w.m * w.n;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * reduce_threads + threadIdx.x;
  if (index >= elements) return;
  const std::int64_t i = index % w.m;
  const std::int64_t j = index / w.m;
  for (std::int64_t product = blockIdx.y; product < w.work_tiles / (w.tiles_m * w.tiles_n * w.split_k);
       product += gridDim.y) {
    const double* from = w.partials + product * w.chunks * w.partial_rows * w.n + j * w.partial_rows + i;
    double* c = product_base(w.c, w.c_layout, product) + i * w.c_layout.row_stride + j * w.c_layout.column_stride;
    double x = accumulate_chunk(w.epilogue, true, *from, w.epilogue.reads_c ? *c : 0);
#pragma unroll 16
    for (std::uint32_t chunk = 1; chunk < w.chunks; ++chunk)
      x = accumulate_chunk(w.epilogue, false, from[chunk * w.partial_rows * w.n], x);
    *c = w.epilogue.finish(x, i, j);
  }
}

}  // namespace exactile::cuda::dmma
