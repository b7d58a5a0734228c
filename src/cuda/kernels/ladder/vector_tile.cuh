// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the steps with 16-byte loads share: a block of 256 threads computes 128 x 128 elements of C from tiles of a
/// transposed A and of B in shared memory, 8 x 8 for each thread as four squares of 4 x 4 neighbours, 64 apart.
#pragma once

#include <array>

#include "cuda/kernels/ladder/padded_product.hpp"
#include "cuda/tile/epilogue.cuh"
#include "cuda/tile/tiles.hpp"

namespace exactile::cuda::vector_tile {

constexpr int threads_per_block = 256;
constexpr int tile = 128;  ///< of C, square
constexpr int depth = 16;
constexpr int vector = 4;
constexpr TileShape shape{.rows = tile, .columns = tile, .depth = depth};
constexpr std::array types{GemmTypes{ElementType::f32, ElementType::f32},
                           GemmTypes{ElementType::i32, ElementType::i32}};

template <class T>
struct alignas(16) Vector {
  T element[vector];
};

/// Four elements a lane: a warp takes a row of 128.
template <class T>
using Row = Vector<T>[tile / vector];

/// Which vectors of a tile's rows a thread brings: (row, column), (row + rows_at_once, column).
struct Share {
  static constexpr int rows_at_once = threads_per_block / (tile / vector);
  static constexpr int count = depth / rows_at_once;
  int row = static_cast<int>(threadIdx.x) / (tile / vector);
  int column = static_cast<int>(threadIdx.x) % (tile / vector);
};

/// Where a block's tile of C begins.
struct Corner {
  std::int64_t i;
  std::int64_t j;

  __device__ explicit Corner(const GemmDescription& d) {
    const std::int64_t tiles_across = (d.n + tile - 1) / tile;
    i = blockIdx.x / tiles_across * tile;
    j = blockIdx.x % tiles_across * tile;
  }
};

/// A thread's elements of C; `y` and `x` count its squares in units of four rows and columns, below 16.
template <class T>
class Accumulators {
 public:
  __device__ Accumulators(int y, int x) : y_(y), x_(x) {}

  /// Adds `depth` terms.
  __device__ void add(const Row<T>* rows_a, const Row<T>* rows_b) {
#pragma unroll
    for (int q = 0; q < depth; ++q) {
      const Vector<T> of_a[2] = {rows_a[q][y_], rows_a[q][half / vector + y_]};
      const Vector<T> of_b[2] = {rows_b[q][x_], rows_b[q][half / vector + x_]};
#pragma unroll
      for (int i = 0; i < own; ++i)
#pragma unroll
        for (int j = 0; j < own; ++j)
          sum_[i][j] =
              multiply_add(of_a[i / vector].element[i % vector], of_b[j / vector].element[j % vector], sum_[i][j]);
    }
  }

  __device__ void store(const GemmDescription& d, const Corner& corner, T* to, const Epilogue<T, T>& epilogue) const {
    // Registers cannot be indexed; the sums are copied to where they can, so that the epilogue's code is there once.
    T finished[own * own];
#pragma unroll
    for (int e = 0; e < own * own; ++e) finished[e] = sum_[e / own][e % own];
#pragma unroll 1
    for (int e = 0; e < own * own; ++e) {
      const auto place = [](int square, int index) { return index / vector * half + square * vector + index % vector; };
      const std::int64_t i = corner.i + place(y_, e / own);
      const std::int64_t j = corner.j + place(x_, e % own);
      if (i < d.m && j < d.n) epilogue.store(to + i * d.c.row_stride + j * d.c.column_stride, finished[e], i, j);
    }
  }

 private:
  static constexpr int half = tile / 2;
  static constexpr int own = 2 * vector;  // rows and columns of a thread

  int y_;
  int x_;
  T sum_[own][own] = {};
};

/// A product by one of these kernels.
template <class T>
class Product final : public PaddedProduct {
 public:
  using Function = void (*)(GemmDescription, const T*, const T*, T*, Epilogue<T, T>);

  Product(const GemmDescription& d, Function kernel, std::string_view name)
      : PaddedProduct(d, shape, true, name), kernel_(kernel) {}

  [[nodiscard]] std::string blocking() const override { return tile_text() + " vector=4"; }

 protected:
  void launch_tiles(const GemmDescription& d, const GemmArguments& arguments, cudaStream_t stream) const override {
    kernel_<<<layered_grid(d, tile_count(d, tile, tile)), threads_per_block, 0, stream>>>(
        d, static_cast<const T*>(arguments.a), static_cast<const T*>(arguments.b), static_cast<T*>(arguments.c),
        Epilogue<T, T>(d, arguments));
  }

 private:
  Function kernel_;
};

[[nodiscard]] inline std::string_view refuses(const plan::Problem& problem, const Device& /*device*/) {
  return refuses_blocks(tile_count(problem.description, tile, tile));
}

/// The product of the problem's type with the kernel of that type.
[[nodiscard]] inline std::unique_ptr<DeviceProduct> prepare(const plan::Problem& problem,
                                                            Product<float>::Function of_float,
                                                            Product<std::int32_t>::Function of_int,
                                                            std::string_view name) {
  if (problem.description.types.input == ElementType::i32)
    return std::make_unique<Product<std::int32_t>>(problem.description, of_int, name);
  return std::make_unique<Product<float>>(problem.description, of_float, name);
}

}  // namespace exactile::cuda::vector_tile
