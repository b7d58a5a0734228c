// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/native/splitk_reduce_global.hpp"

#include <algorithm>

#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::sm90::native {
namespace {

constexpr int threads = 128;

constexpr int width = 4;  // columns of a thread

/// A thread adds four columns of a row. A block is `across` threads wide, a power of two; the grid's y are rows of all
/// products.
template <class Accumulator>
__global__ void __launch_bounds__(threads)
    splitk_reduce_kernel(const Accumulator* partial, std::int64_t pitch, int split_k, std::int64_t rows, int across,
                         Output<Accumulator> c) {
  struct alignas(16) Four {
    Accumulator x[width];
  };
  start_kernel_after();
  wait_for_kernel_before();
  const int thread = static_cast<int>(threadIdx.x);
  const int j = (static_cast<int>(blockIdx.x) * across + thread % across) * width;
  const int down = threads / across;
  if (j >= c.columns) return;
  const std::int64_t slice_elements = c.rows * pitch;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * down + thread / across; row < rows;
       row += static_cast<std::int64_t>(gridDim.y) * down) {
    const std::int64_t product = rows == c.rows ? 0 : row / c.rows;
    const std::int64_t i = row - product * c.rows;
    const Accumulator* const from = partial + product * split_k * slice_elements + i * pitch + j;
    Four sum = *reinterpret_cast<const Four*>(from);
#pragma unroll 8
    for (int k_slice = 1; k_slice < split_k; ++k_slice) {
      const Four more = *reinterpret_cast<const Four*>(from + k_slice * slice_elements);
#pragma unroll
      for (int e = 0; e < width; ++e) sum.x[e] = add(sum.x[e], more.x[e]);
    }
    const bool is_half = c.type == ElementType::f16 || c.type == ElementType::bf16;
    void* const base = is_half ? matrix_of<2>(c, product) : matrix_of<4>(c, product);
#pragma unroll
    for (int e = 0; e < width; ++e) {
      if (j + e >= c.columns) break;
      const std::int64_t place = i * c.layout.row_stride + (j + e) * c.layout.column_stride;
      const Accumulator x = c.scaled(sum.x[e], i, j + e);
      c.store(base, place, c.is_plain ? x : c.value(x, c.reads_c ? c.load(base, place) : Accumulator{}, i, j + e));
    }
  }
}

}  // namespace

template <class Accumulator>
cudaError_t enqueue_splitk_reduce(const Accumulator* partial, std::int64_t pitch, int split_k, std::int64_t products,
                                  const Output<Accumulator>& c, cudaStream_t stream) {
  const std::int64_t rows = c.rows * products;
  const int needed = (c.columns + width - 1) / width;
  int across = 1;
  while (across < threads && across < needed) across *= 2;
  const int down = threads / across;
  const dim3 grid(static_cast<unsigned>((needed + across - 1) / across),
                  static_cast<unsigned>(std::min<std::int64_t>((rows + down - 1) / down, 1 << 15)));
  return launch_early(true, splitk_reduce_kernel<Accumulator>, grid, threads, 0, stream, partial, pitch, split_k, rows,
                      across, c);
}

template cudaError_t enqueue_splitk_reduce(const float*, std::int64_t, int, std::int64_t, const Output<float>&,
                                           cudaStream_t);
template cudaError_t enqueue_splitk_reduce(const std::int32_t*, std::int64_t, int, std::int64_t,
                                           const Output<std::int32_t>&, cudaStream_t);

}  // namespace exactile::cuda::sm90::native
