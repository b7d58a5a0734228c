// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles that come to shared memory by cp.async, in a pipeline of three stages, for the steps that differ in which
/// thread computes what.
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/ladder/vector_tile.cuh"

namespace exactile::cuda::vector_tile {

constexpr int stages = 3;  ///< 16 KiB each: all that static shared memory can be

template <class T>
struct Stage {
  Row<T> a[depth];
  Row<T> b[depth];
};

/// A thread's part of the copies into a stage.
template <class T>
__device__ inline void copy_part(Row<T>* rows, const Share& share, const T* from, std::int64_t row_stride) {
#pragma unroll
  for (int i = 0; i < Share::count; ++i)
    isa::copy_async<16>(&rows[share.row + i * Share::rows_at_once][share.column],
                        from + i * Share::rows_at_once * row_stride, 16);
}

/// Places::y() and x() say which squares of the tile are a thread's.
template <class Places, class T>
__global__ void __launch_bounds__(threads_per_block, 2)
    pipeline_kernel(GemmDescription d, const T* a, const T* b, T* c, Epilogue<T, T> epilogue) {
  __shared__ Stage<T> pipeline[stages];
  const Share share;
  const Corner corner(d);

  for (std::int64_t product = blockIdx.y; product < d.batch_count; product += gridDim.y) {
    const T* from_a = product_base(a, d.a, product) + share.row * d.a.column_stride + corner.i + share.column * vector;
    const T* from_b = product_base(b, d.b, product) + share.row * d.b.row_stride + corner.j + share.column * vector;
    std::int64_t to_copy = d.k;
    // A group is closed for every step, an empty one behind the last: then "all but the newest" always means this step.
    const auto copy_step = [&](int stage) {
      if (to_copy > 0) {
        copy_part(pipeline[stage].a, share, from_a, d.a.column_stride);
        copy_part(pipeline[stage].b, share, from_b, d.b.row_stride);
        from_a += depth * d.a.column_stride;
        from_b += depth * d.b.row_stride;
        to_copy -= depth;
      }
      isa::copy_async_commit();
    };

    Accumulators<T> sums(Places::y(), Places::x());
    __syncthreads();  // the product before has been read
    for (int stage = 0; stage + 1 < stages; ++stage) copy_step(stage);
    int stage = 0;
    for (std::int64_t rest = d.k; rest > 0; rest -= depth) {
      isa::copy_async_wait<stages - 2>();
      __syncthreads();  // everybody's copies are there, and everybody has read the stage that is filled next
      copy_step(stage == 0 ? stages - 1 : stage - 1);
      sums.add(pipeline[stage].a, pipeline[stage].b);
      stage = stage + 1 == stages ? 0 : stage + 1;
    }
    sums.store(d, corner, product_base(c, d.c, product), epilogue);
  }
}

}  // namespace exactile::cuda::vector_tile
