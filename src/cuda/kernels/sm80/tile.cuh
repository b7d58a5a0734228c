// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel of the sm80 family: a block of eight warps computes 128 x 128 elements of C, 64 x 32 a warp, from a
/// pipeline of three stages of 64 bytes of K that cp.async fills.
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/isa/mma_m16n8.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm80 {

constexpr int threads = 256;
constexpr int tile = 128;        ///< of C, square
constexpr int stage_bytes = 64;  ///< of K, for each row of A and column of B
constexpr int stages = 3;        ///< 16 KiB each
constexpr int warp_rows = 64;
constexpr int warp_columns = 32;
constexpr int group_rows = 8;  ///< rows of tiles that are walked together, so that L2 serves their columns

/// Vectors: rows of A, or columns of B, each contiguous along K and beginning at multiples of 16 bytes.
template <class In>
struct Vectors {
  const In* data;
  std::int64_t stride;
  std::int64_t batch_stride;
  std::int64_t count;
};

template <class In, class Out>
struct Parameters {
  Vectors<In> a;
  Vectors<In> b;
  Out* c;
  OperandLayout c_layout;
  std::int64_t k;
  std::int64_t batch;
  Epilogue<In, Out> epilogue;
};

/// 128 vectors of a stage in pieces of 16 bytes. Pieces are exchanged so that the same piece of eight neighbouring
/// vectors, which a warp loads together, lies in all banks once.
struct Panel {
  uint4 pieces[tile][stage_bytes / 16];

  [[nodiscard]] __device__ uint4* at(int vector, int piece) { return &pieces[vector][piece ^ (vector >> 1 & 3)]; }
};

struct Stage {
  Panel a;
  Panel b;
};

/// A thread's part of the copies of one operand: the same piece of two vectors.
template <class In>
class Copier {
 public:
  __device__ Copier(const Vectors<In>& vectors, std::int64_t product, std::int64_t first, std::int64_t k)
      : piece_(static_cast<int>(threadIdx.x) % 4), vector_(static_cast<int>(threadIdx.x) / 4) {
    left_ = k * static_cast<int>(sizeof(In)) - piece_ * 16;
    for (int i = 0; i < 2; ++i) {
      const std::int64_t vector = first + vector_ + i * vectors_at_once;
      is_there_[i] = vector < vectors.count;
      from_[i] =
          reinterpret_cast<const char*>(vectors.data + product * vectors.batch_stride + vector * vectors.stride) +
          piece_ * 16;
    }
  }

  /// The next stage; where K has ended, zeros.
  __device__ void copy(Panel& to) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const auto valid = static_cast<int>(is_there_[i] ? max(min(left_, std::int64_t{16}), std::int64_t{0}) : 0);
      isa::copy_async<16>(to.at(vector_ + i * vectors_at_once, piece_), from_[i], valid);
      from_[i] += stage_bytes;
    }
    left_ -= stage_bytes;
  }

 private:
  static constexpr int vectors_at_once = threads / 4;

  int piece_;
  int vector_;
  std::int64_t left_;  ///< bytes of K from this piece on
  bool is_there_[2];
  const char* from_[2];
};

/// A warp's 64 x 32 sums.
template <class In>
class WarpTile {
 public:
  using Accumulator = DeviceAccumulator<In>;
  static constexpr int row_tiles = warp_rows / 16;
  static constexpr int column_tiles = warp_columns / 8;

  __device__ void add(Stage& stage) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint32_t a[row_tiles][4];
      std::uint32_t b[column_tiles / 2][4];
#pragma unroll
      for (int i = 0; i < row_tiles; ++i)
        isa::load_matrices(a[i], stage.a.at(first_row() + 16 * i + lane % 16, 2 * half + lane / 16));
#pragma unroll
      for (int j = 0; j < column_tiles / 2; ++j)
        isa::load_matrices(b[j],
                           stage.b.at(first_column() + 16 * j + lane % 8 + lane / 16 * 8, 2 * half + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < row_tiles; ++i)
#pragma unroll
        for (int j = 0; j < column_tiles; ++j) {
          const std::uint32_t of_b[2] = {b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]};
          isa::mma<In>(sums_[i][j], a[i], of_b);
        }
    }
  }

  /// Calls `store(row, column, sum)` for each.
  template <class Store>
  __device__ void for_each(const Store& store) const {
    // Registers cannot be indexed; the sums are copied to where they can, so that the epilogue's code is there once.
    Accumulator finished[row_tiles * column_tiles * 4];
#pragma unroll
    for (int e = 0; e < row_tiles * column_tiles * 4; ++e)
      finished[e] = sums_[e / 4 / column_tiles][e / 4 % column_tiles][e % 4];
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
    for (int e = 0; e < row_tiles * column_tiles * 4; ++e)
      store(first_row() + e / 4 / column_tiles * 16 + lane / 4 + e % 4 / 2 * 8,
            first_column() + e / 4 % column_tiles * 8 + lane % 4 * 2 + e % 2, finished[e]);
  }

 private:
  [[nodiscard]] static __device__ int first_row() {
    return static_cast<int>(threadIdx.x) / 32 / (tile / warp_columns) * warp_rows;
  }
  [[nodiscard]] static __device__ int first_column() {
    return static_cast<int>(threadIdx.x) / 32 % (tile / warp_columns) * warp_columns;
  }

  Accumulator sums_[row_tiles][column_tiles][4] = {};
};

template <class In, class Out>
__global__ void __launch_bounds__(threads, 2) mma_kernel(Parameters<In, Out> w) {
  __shared__ Stage pipeline[stages];
  const std::int64_t tiles_down = (w.a.count + tile - 1) / tile;
  const std::int64_t tiles_across = (w.b.count + tile - 1) / tile;
  const std::int64_t group = blockIdx.x / (group_rows * tiles_across) * group_rows;
  const std::int64_t rows_here = min(tiles_down - group, std::int64_t{group_rows});
  const std::int64_t in_group = blockIdx.x % (group_rows * tiles_across);
  const std::int64_t i0 = (group + in_group % rows_here) * tile;
  const std::int64_t j0 = in_group / rows_here * tile;

  for (std::int64_t product = blockIdx.y; product < w.batch; product += gridDim.y) {
    Copier<In> a(w.a, product, i0, w.k);
    Copier<In> b(w.b, product, j0, w.k);
    const auto copy = [&](Stage& stage) {
      a.copy(stage.a);
      b.copy(stage.b);
      isa::copy_async_commit();
    };

    WarpTile<In> warp;
    __syncthreads();  // the product before has been read
    for (int stage = 0; stage + 1 < stages; ++stage) copy(pipeline[stage]);
    int stage = 0;
    for (std::int64_t rest = w.k * static_cast<int>(sizeof(In)); rest > 0; rest -= stage_bytes) {
      isa::copy_async_wait<stages - 2>();
      __syncthreads();  // everybody's copies are there, and everybody has read the stage that is filled next
      copy(pipeline[stage == 0 ? stages - 1 : stage - 1]);
      warp.add(pipeline[stage]);
      stage = stage + 1 == stages ? 0 : stage + 1;
    }
    isa::copy_async_wait<0>();

    Out* const c = product_base(w.c, w.c_layout, product);
    warp.for_each([&](int row, int column, typename WarpTile<In>::Accumulator sum) {
      const std::int64_t i = i0 + row;
      const std::int64_t j = j0 + column;
      if (i < w.a.count && j < w.b.count)
        w.epilogue.store(c + i * w.c_layout.row_stride + j * w.c_layout.column_stride, sum, i, j);
    });
  }
}

}  // namespace exactile::cuda::sm80
