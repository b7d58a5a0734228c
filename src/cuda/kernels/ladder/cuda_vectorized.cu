// SPDX-License-Identifier: Apache-2.0
// `cuda_vectorized`: `cuda_register_blocked` with 16-byte loads. A thread's 8 x 8 elements are four squares of 4 x 4
// neighbours, 64 apart, so that one load brings four numbers from shared memory, and one from memory too.
// A transposed and B are copied so that their rows begin at multiples of 16 bytes.
// Traffic model: A and B copied (read and written), then A once for each column of tiles, B once for each row of tiles.
// Limit: the arithmetic, and the moments in which a block waits at its barrier. See docs/ladder/cuda_vectorized.md.
#include "cuda/kernels/kernels.hpp"
#include "cuda/kernels/ladder/vector_tile.cuh"

namespace exactile::cuda {
namespace {

using namespace vector_tile;

constexpr std::string_view name = "cuda_vectorized";

/// The part of a step that a thread brings, in registers on its way.
template <class T>
struct Part {
  Vector<T> vectors[Share::count];

  __device__ void load(const T* from, std::int64_t row_stride) {
#pragma unroll
    for (int i = 0; i < Share::count; ++i)
      vectors[i] = *reinterpret_cast<const Vector<T>*>(from + i * Share::rows_at_once * row_stride);
  }
  __device__ void store(Row<T>* rows, const Share& share) const {
#pragma unroll
    for (int i = 0; i < Share::count; ++i) rows[share.row + i * Share::rows_at_once][share.column] = vectors[i];
  }
};

template <class T>
__global__ void __launch_bounds__(threads_per_block, 2)
    vectorized_kernel(GemmDescription d, const T* a, const T* b, T* c, Epilogue<T, T> epilogue) {
  // Two buffers: one is computed from while the other is filled.
  __shared__ Row<T> tile_a[2][depth];
  __shared__ Row<T> tile_b[2][depth];
  const Share share;
  const Corner corner(d);

  for (std::int64_t product = blockIdx.y; product < d.batch_count; product += gridDim.y) {
    const T* from_a = product_base(a, d.a, product) + share.row * d.a.column_stride + corner.i + share.column * vector;
    const T* from_b = product_base(b, d.b, product) + share.row * d.b.row_stride + corner.j + share.column * vector;
    Part<T> next_a;
    Part<T> next_b;
    const auto load = [&] {
      next_a.load(from_a, d.a.column_stride);
      next_b.load(from_b, d.b.row_stride);
      from_a += depth * d.a.column_stride;
      from_b += depth * d.b.row_stride;
    };
    const auto store = [&](int buffer) {
      next_a.store(tile_a[buffer], share);
      next_b.store(tile_b[buffer], share);
    };

    Accumulators<T> sums(static_cast<int>(threadIdx.x) / 16, static_cast<int>(threadIdx.x) % 16);
    load();
    store(0);
    __syncthreads();
    int buffer = 0;
    for (std::int64_t rest = d.k; rest > 0; rest -= depth) {
      if (rest > depth) load();
      sums.add(tile_a[buffer], tile_b[buffer]);
      buffer ^= 1;
      if (rest > depth) store(buffer);
      __syncthreads();
    }
    sums.store(d, corner, product_base(c, d.c, product), epilogue);
  }
}

}  // namespace

const Kernel cuda_vectorized{.name = name,
                             .role = "ladder",
                             .summary = "cuda_register_blocked with 16-byte loads",
                             .types = types,
                             .refuses = refuses,
                             .candidates = one_candidate,
                             .make = [](const plan::Problem& p, const Device&, const Configuration&) {
                               return prepare(p, vectorized_kernel<float>, vectorized_kernel<std::int32_t>, name);
                             }};

}  // namespace exactile::cuda
