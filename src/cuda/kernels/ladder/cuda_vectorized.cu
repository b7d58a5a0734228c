// SPDX-License-Identifier: Apache-2.0
// `cuda_vectorized`: `cuda_register_blocked` with 16-byte loads. A thread's 8 x 8 elements are four squares of 4 x 4
// neighbours, 64 apart, so that one load brings four numbers from shared memory, and one from memory too.
// A transposed and B are copied so that their rows begin at multiples of 16 bytes.
// Traffic model: A and B copied (read and written), then A once for each column of tiles, B once for each row of tiles.
// Limit: the arithmetic, and the moments in which a block waits at its barrier. See docs/ladder/cuda_vectorized.md.
#include <array>

#include "cuda/kernels/ladder/ladder_kernels.hpp"
#include "cuda/kernels/ladder/padded_product.hpp"
#include "cuda/kernels/ladder/tiles.hpp"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda {
namespace {

constexpr std::string_view name = "cuda_vectorized";
constexpr int threads_per_block = 256;
constexpr int tile = 128;  ///< of C, square
constexpr int depth = 16;
constexpr int vector = 4;
constexpr std::array vectorized_types{GemmTypes{ElementType::f32, ElementType::f32},
                                      GemmTypes{ElementType::i32, ElementType::i32}};

template <class T>
struct alignas(16) Vector {
  T element[vector];
};

/// Four elements a lane: a warp takes a row of 128.
template <class T>
using Row = Vector<T>[tile / vector];

/// The part of a step that a thread brings: vectors (row, column) and (row + 8, column).
template <class T>
struct Part {
  static constexpr int rows_at_once = threads_per_block / (tile / vector);
  Vector<T> vectors[depth / rows_at_once];

  __device__ void load(const T* from, std::int64_t row_stride) {
#pragma unroll
    for (int i = 0; i < depth / rows_at_once; ++i)
      vectors[i] = *reinterpret_cast<const Vector<T>*>(from + i * rows_at_once * row_stride);
  }
  __device__ void store(Row<T>* rows, int row, int column) const {
#pragma unroll
    for (int i = 0; i < depth / rows_at_once; ++i) rows[row + i * rows_at_once][column] = vectors[i];
  }
};

template <class T>
__global__ void __launch_bounds__(threads_per_block, 2)
    vectorized_kernel(GemmDescription d, const T* a, const T* b, T* c, Epilogue<T, T> epilogue) {
  constexpr int half = tile / 2;
  constexpr int own = 2 * vector;  // rows and columns of a thread
  // Two buffers: one is computed from while the other is filled.
  __shared__ Row<T> tile_a[2][depth];
  __shared__ Row<T> tile_b[2][depth];
  const int x = threadIdx.x % (half / vector);
  const int y = threadIdx.x / (half / vector);
  const int row = threadIdx.x / (tile / vector);
  const int column = threadIdx.x % (tile / vector);
  const std::int64_t tiles_across = (d.n + tile - 1) / tile;
  const std::int64_t i0 = blockIdx.x / tiles_across * tile;
  const std::int64_t j0 = blockIdx.x % tiles_across * tile;

  for (std::int64_t product = blockIdx.y; product < d.batch_count; product += gridDim.y) {
    const T* from_a = product_base(a, d.a, product) + row * d.a.column_stride + i0 + column * vector;
    const T* from_b = product_base(b, d.b, product) + row * d.b.row_stride + j0 + column * vector;
    Part<T> next_a;
    Part<T> next_b;
    const auto load = [&] {
      next_a.load(from_a, d.a.column_stride);
      next_b.load(from_b, d.b.row_stride);
      from_a += depth * d.a.column_stride;
      from_b += depth * d.b.row_stride;
    };
    const auto store = [&](int buffer) {
      next_a.store(tile_a[buffer], row, column);
      next_b.store(tile_b[buffer], row, column);
    };

    T sum[own][own] = {};
    load();
    store(0);
    __syncthreads();
    int buffer = 0;
    for (std::int64_t rest = d.k; rest > 0; rest -= depth) {
      if (rest > depth) load();
#pragma unroll
      for (int q = 0; q < depth; ++q) {
        const Vector<T> of_a[2] = {tile_a[buffer][q][y], tile_a[buffer][q][half / vector + y]};
        const Vector<T> of_b[2] = {tile_b[buffer][q][x], tile_b[buffer][q][half / vector + x]};
#pragma unroll
        for (int i = 0; i < own; ++i)
#pragma unroll
          for (int j = 0; j < own; ++j)
            sum[i][j] =
                multiply_add(of_a[i / vector].element[i % vector], of_b[j / vector].element[j % vector], sum[i][j]);
      }
      buffer ^= 1;
      if (rest > depth) store(buffer);
      __syncthreads();
    }

    // Registers cannot be indexed; the sums are copied to where they can, so that the epilogue's code is there once.
    T finished[own * own];
#pragma unroll
    for (int e = 0; e < own * own; ++e) finished[e] = sum[e / own][e % own];
    T* const to = product_base(c, d.c, product);
#pragma unroll 1
    for (int e = 0; e < own * own; ++e) {
      const auto place = [](int thread, int index) { return index / vector * half + thread * vector + index % vector; };
      const std::int64_t i = i0 + place(y, e / own);
      const std::int64_t j = j0 + place(x, e % own);
      if (i < d.m && j < d.n) epilogue.store(to + i * d.c.row_stride + j * d.c.column_stride, finished[e], i, j);
    }
  }
}

template <class T>
class Vectorized final : public PaddedProduct {
 public:
  explicit Vectorized(const GemmDescription& d)
      : PaddedProduct(d, {.rows = tile, .columns = tile, .depth = depth}, true, name) {}

  [[nodiscard]] std::string blocking() const override { return tile_text() + " vector=4"; }

 protected:
  void launch_tiles(const GemmDescription& d, const GemmArguments& arguments, cudaStream_t stream) const override {
    vectorized_kernel<T><<<layered_grid(d, tile_count(d, tile, tile)), threads_per_block, 0, stream>>>(
        d, static_cast<const T*>(arguments.a), static_cast<const T*>(arguments.b), static_cast<T*>(arguments.c),
        Epilogue<T, T>(d, arguments));
  }
};

}  // namespace

const Kernel cuda_vectorized{
    .name = name,
    .role = "ladder",
    .summary = "cuda_register_blocked with 16-byte loads",
    .types = vectorized_types,
    .refuses = [](const plan::Problem& p, const Device&) -> std::string_view {
      return refuses_blocks(tile_count(p.description, tile, tile));
    },
    .cost = [](const plan::Problem& p, const Device& device) { return seconds_at(p.description, device, 95); },
    .prepare = [](const plan::Problem& p, const Device&) -> std::unique_ptr<DeviceProduct> {
      if (p.description.types.input == ElementType::i32)
        return std::make_unique<Vectorized<std::int32_t>>(p.description);
      return std::make_unique<Vectorized<float>>(p.description);
    }};

}  // namespace exactile::cuda
