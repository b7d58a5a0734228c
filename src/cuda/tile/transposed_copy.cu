// SPDX-License-Identifier: Apache-2.0
// The transpose kernel: a tile of 32 x 32 elements is read along the matrix's contiguous direction into shared memory
// and written along the copy's rows, so that both sides touch whole cache lines. The tile's rows are one element longer
// than they need be: its columns then lie in different banks.
// Traffic model: each element read once and written once. Limit: memory. See docs/ladder/cuda_register_blocked.md.
#include <algorithm>
#include <type_traits>

#include "core/checked.hpp"
#include "cuda/kernel.hpp"
#include "cuda/tile/epilogue.cuh"
#include "cuda/tile/transposed_copy.hpp"

namespace exactile::cuda {
namespace {

constexpr int tile = 32;
constexpr int thread_rows = 8;

/// T is any type of the element's size: bits are moved, not numbers.
template <class T>
__global__ void __launch_bounds__(tile* thread_rows)
    transpose_kernel(TransposedCopy copy, std::int64_t products, const T* matrices, T* copies) {
  __shared__ T elements[tile][tile + 1];
  const std::int64_t tiles_across = (copy.pitch + tile - 1) / tile;
  const std::int64_t i0 = blockIdx.x % tiles_across * tile;
  const std::int64_t j0 = blockIdx.x / tiles_across * tile;
  // Lanes of a warp read neighbours: along a column of the matrix if that is where they lie.
  const bool reads_columns = std::abs(copy.from.row_stride) < std::abs(copy.from.column_stride);
  for (std::int64_t product = blockIdx.y; product < products; product += gridDim.y) {
    const T* matrix = product_base(matrices, copy.from, product);
    for (int y = threadIdx.y; y < tile; y += thread_rows) {
      const int i = reads_columns ? threadIdx.x : y;
      const int j = reads_columns ? y : threadIdx.x;
      const bool inside = i0 + i < copy.rows && j0 + j < copy.columns;
      elements[i][j] = inside ? matrix[(i0 + i) * copy.from.row_stride + (j0 + j) * copy.from.column_stride] : T{};
    }
    __syncthreads();
    T* to = copies + product * copy.pitch * copy.copy_rows;
    for (int y = threadIdx.y; y < tile; y += thread_rows)
      if (i0 + threadIdx.x < copy.pitch && j0 + y < copy.copy_rows)
        to[(j0 + y) * copy.pitch + i0 + threadIdx.x] = elements[threadIdx.x][y];
    __syncthreads();
  }
}

template <class T>
void enqueue(const TransposedCopy& copy, const void* matrices, void* copies, std::int64_t count, cudaStream_t stream) {
  const std::int64_t products = copy.is_shared() ? 1 : count;
  const std::int64_t tiles = core::ceil_divide(copy.pitch, tile) * core::ceil_divide(copy.copy_rows, tile);
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(std::min<std::int64_t>(products, 65535)));
  transpose_kernel<T><<<grid, dim3(tile, thread_rows), 0, stream>>>(copy, products, static_cast<const T*>(matrices),
                                                                    static_cast<T*>(copies));
}

}  // namespace

Status TransposedCopy::launch(const void* matrices, void* copies, std::int64_t count, cudaStream_t stream,
                              std::string_view kernel) const {
  switch (size_in_bytes(type)) {
    case 1: enqueue<std::uint8_t>(*this, matrices, copies, count, stream); break;
    case 2: enqueue<std::uint16_t>(*this, matrices, copies, count, stream); break;
    case 4: enqueue<std::uint32_t>(*this, matrices, copies, count, stream); break;
    case 8: enqueue<std::uint64_t>(*this, matrices, copies, count, stream); break;
    default: enqueue<ulonglong2>(*this, matrices, copies, count, stream); break;
  }
  return check_launch(kernel);
}

}  // namespace exactile::cuda
