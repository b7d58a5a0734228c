// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/narrow/reduce.hpp"

#include <algorithm>

namespace exactile::cuda::sm90::narrow {
namespace {

constexpr int threads = 256;

template <class Sum>
__global__ void __launch_bounds__(threads)
    reduce_kernel(const Sum* partial, std::int64_t pitch, int chunks, std::int64_t products, Output<Sum> c) {
  const std::int64_t elements = static_cast<std::int64_t>(c.rows) * c.columns;
  const std::int64_t chunk_elements = c.rows * pitch;
  const std::int64_t size = c.type == ElementType::f16 || c.type == ElementType::bf16 ? 2 : 4;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; at < elements * products;
       at += static_cast<std::int64_t>(gridDim.x) * threads) {
    const std::int64_t product = at / elements;
    const std::int64_t i = at % elements / c.columns;
    const std::int64_t j = at % c.columns;
    const Sum* from = partial + product * chunks * chunk_elements + i * pitch + j;
    Sum sum = *from;
    for (int chunk = 1; chunk < chunks; ++chunk) sum = add(sum, from[chunk * chunk_elements]);
    void* const base = c.layout.pointer_array
                           ? static_cast<void* const*>(c.data)[product]
                           : static_cast<std::byte*>(c.data) + product * c.layout.batch_stride * size;
    const std::int64_t place = i * c.layout.row_stride + j * c.layout.column_stride;
    c.store(base, place, c.is_plain ? sum : c.value(sum, c.reads_c ? c.load(base, place) : Sum{}, i, j));
  }
}

}  // namespace

template <class Sum>
void enqueue_reduce(const Sum* partial, std::int64_t pitch, int chunks, std::int64_t products, const Output<Sum>& c,
                    cudaStream_t stream) {
  const std::int64_t elements = static_cast<std::int64_t>(c.rows) * c.columns * products;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>((elements + threads - 1) / threads, 1 << 14));
  reduce_kernel<<<blocks, threads, 0, stream>>>(partial, pitch, chunks, products, c);
}

template void enqueue_reduce(const float*, std::int64_t, int, std::int64_t, const Output<float>&, cudaStream_t);
template void enqueue_reduce(const std::int32_t*, std::int64_t, int, std::int64_t, const Output<std::int32_t>&,
                             cudaStream_t);

}  // namespace exactile::cuda::sm90::narrow
