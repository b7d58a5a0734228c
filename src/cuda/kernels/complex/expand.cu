// SPDX-License-Identifier: Apache-2.0
// The pass that makes 2k x 2n real numbers of k x n complex ones (real_form.hpp). A tile of 32 x 32 elements is read
// along B's contiguous direction into shared memory and written along rows, so that both sides touch whole cache lines.
// Traffic model: each element read once and written twice. Limit: memory.
#include <algorithm>

#include "core/checked.hpp"
#include "cuda/kernels/complex/real_form.hpp"
#include "cuda/tile/epilogue.cuh"
#include "plan/transposed.hpp"

namespace exactile::cuda::complex_family {
namespace {

constexpr int tile = 32;
constexpr int thread_rows = 8;

struct Parameters {
  std::int64_t k;
  std::int64_t n;
  OperandLayout from;
  std::int64_t pitch;
  std::int64_t products;
  bool negates_imaginary;  ///< B is conjugated
  bool negates_lower;      ///< A is conjugated
};

template <class T>
[[nodiscard]] __device__ T negated_if(bool negates, T x) {
  return negates ? -x : x;
}

template <class T>
__global__ void __launch_bounds__(tile* thread_rows)
    expand_kernel(const __grid_constant__ Parameters e, const Complex<T>* matrices, Complex<T>* expanded) {
  __shared__ Complex<T> elements[tile][tile + 1];
  const std::int64_t tiles_across = (e.n + tile - 1) / tile;
  const std::int64_t k0 = blockIdx.x / tiles_across * tile;
  const std::int64_t j0 = blockIdx.x % tiles_across * tile;
  const int x = static_cast<int>(threadIdx.x);
  const bool reads_columns = std::abs(e.from.row_stride) < std::abs(e.from.column_stride);
  for (std::int64_t product = blockIdx.y; product < e.products; product += gridDim.y) {
    const Complex<T>* matrix = product_base(matrices, e.from, product);
    for (int y = static_cast<int>(threadIdx.y); y < tile; y += thread_rows) {
      const int k = reads_columns ? x : y;
      const int j = reads_columns ? y : x;
      if (k0 + k < e.k && j0 + j < e.n)
        elements[k][j] = matrix[(k0 + k) * e.from.row_stride + (j0 + j) * e.from.column_stride];
    }
    __syncthreads();
    Complex<T>* to = expanded + product * 2 * e.k * e.pitch;
    for (int y = static_cast<int>(threadIdx.y); y < tile; y += thread_rows) {
      if (k0 + y >= e.k || j0 + x >= e.n) continue;
      const T real = elements[y][x].real;
      const T imaginary = negated_if(e.negates_imaginary, elements[y][x].imaginary);
      Complex<T>* upper = to + 2 * (k0 + y) * e.pitch + j0 + x;
      upper[0] = {real, imaginary};
      upper[e.pitch] = {negated_if(!e.negates_lower, imaginary), negated_if(e.negates_lower, real)};
    }
    __syncthreads();
  }
}

template <class T>
Status enqueue(const Parameters& e, const void* b, void* expanded, cudaStream_t stream) {
  const std::int64_t tiles = core::ceil_divide(e.n, tile) * core::ceil_divide(e.k, tile);
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(std::min<std::int64_t>(e.products, 65535)));
  expand_kernel<T><<<grid, dim3(tile, thread_rows), 0, stream>>>(e, static_cast<const Complex<T>*>(b),
                                                                 static_cast<Complex<T>*>(expanded));
  return check_launch("expand");
}

}  // namespace

Status expand(const RealForm& form, const void* b, void* expanded, cudaStream_t stream) {
  const GemmDescription& d = form.d;
  const Parameters e{.k = d.k,
                     .n = d.n,
                     .from = d.b,
                     .pitch = form.pitch,
                     .products = plan::distinct_matrices(d.b, d.batch_count),
                     .negates_imaginary = d.b.conjugate,
                     .negates_lower = d.a.conjugate};
  return d.types.input == ElementType::cf64 ? enqueue<double>(e, b, expanded, stream)
                                            : enqueue<float>(e, b, expanded, stream);
}

}  // namespace exactile::cuda::complex_family
