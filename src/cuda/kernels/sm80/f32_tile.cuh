// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernel of sm80_f32_fp16x3_mma. A block computes a tile of C at a time; each of its warps loads and splits 16
/// rows of A or columns of B, a chunk of K ahead of what it multiplies. What a row of A or a column of B is multiplied
/// by is its own affair, and the order of summation is that of K, so an element of C does not depend on others.
#pragma once

#include "cuda/kernels/simt/parameters.cuh"
#include "cuda/kernels/sm80/f32_sums.cuh"

namespace exactile::cuda::sm80 {

/// A product whose rows of C are contiguous if anything is. Passed to kernels by value.
struct F32Work {
  simt::Parameters<float, float> product;
  bool a_k_major;  ///< K-major, or nearest to it
  bool b_k_major;
  std::uint32_t work_tiles;  ///< tiles of all products
  float underflow_scale;     ///< the error of a tiny element, where the promise leaves an error of 1
  std::uint64_t* tiles;      ///< counts tiles, and those that were summed again in f32; or null
};

/// The block's shared memory. Vectors are the rows of A, then the columns of B.
template <class S>
struct F32Space {
  union {
    SliceTile<S::vectors> slices[2];
    float plain[chunk_k][S::vectors];  ///< of a chunk that is summed in f32
  };
  float shrink[2][S::vectors];
  float2 scale_back[S::vectors];  ///< in two factors
  float error[S::vectors];
  simt::WorkTile work_tiles[3];  ///< of the tile before, this one and the next, in turn
};

/// The vectors of a tile that this warp splits.
template <class S>
[[nodiscard]] __device__ inline VectorSource source_of(const F32Work& w, const simt::WorkTile& work_tile) {
  const simt::Parameters<float, float>& p = w.product;
  const GemmDescription& d = p.d;
  const int first = static_cast<int>(threadIdx.x) / 32 * warp_vectors;
  if (first < S::bm) {
    const std::int64_t row = work_tile.row + first;
    return {{product_base(p.a, d.a, work_tile.product) + row * d.a.row_stride, d.a.row_stride, d.a.column_stride,
             d.m - row, d.k},
            w.a_k_major};
  }
  const std::int64_t column = work_tile.column + first - S::bm;
  return {{product_base(p.b, d.b, work_tile.product) + column * d.b.column_stride, d.b.column_stride, d.b.row_stride,
           d.n - column, d.k},
          w.b_k_major};
}

/// Whether slices may have missed the promise. True for NaN, which Inf becomes.
[[nodiscard]] __device__ inline bool is_doubtful(float sum, float row_error, float column_error) {
  return !(row_error + column_error <= fabsf(sum));
}

/// 2^-scale in two halves, so that no step overflows unless the result does.
[[nodiscard]] __device__ inline float2 scale_back_of(int scale) {
  return make_float2(sm90::power_of_two(-(scale >> 1)), sm90::power_of_two((scale >> 1) - scale));
}

/// The sums of the tile in f32, by all threads.
template <class S>
__device__ inline void sum_plainly(WarpAccumulators<S>& sums, F32Space<S>& space, const F32Work& w,
                                   const simt::WorkTile& work_tile) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const bool k_major = warp * warp_vectors < S::bm ? w.a_k_major : w.b_k_major;
  VectorSource source = source_of<S>(w, work_tile);
  for (std::int64_t k = 0; k < w.product.d.k; k += chunk_k) {
    Elements x;
    source.load(x);
#pragma unroll
    for (int o = 0; o < 4; ++o)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int k = k_major ? lane % 8 * 4 + i : lane / 4 * 4 + o;
        const int vector = k_major ? lane / 8 + 4 * o : lane % 4 * 4 + i;
        space.plain[k][warp * warp_vectors + vector] = x[o][i];
      }
    __syncthreads();
    sums.add_plain(space.plain);
    __syncthreads();
  }
}

/// From sums to C.
template <class S>
__device__ inline void store_tile(const WarpAccumulators<S>& sums, const simt::Parameters<float, float>& p,
                                  const simt::WorkTile work_tile) {
  using Accumulators = WarpAccumulators<S>;
  const GemmDescription& d = p.d;
  float* const c = product_base(p.c, d.c, work_tile.product);
  const std::int64_t rows = d.m - work_tile.row, columns = d.n - work_tile.column;
  float* const corner = c + work_tile.row * d.c.row_stride + work_tile.column * d.c.column_stride;
  if (p.epilogue.is_plain && d.c.column_stride == 1 && d.c.row_stride % 2 == 0 &&
      reinterpret_cast<std::uintptr_t>(corner) % 8 == 0) {
#pragma unroll
    for (int i = 0; i < Accumulators::row_tiles * 2; ++i) {
      const int row = Accumulators::row(i / 2, i % 2 * 2);
      if (row >= rows) continue;
#pragma unroll
      for (int j = 0; j < Accumulators::column_tiles; ++j) {
        const int column = Accumulators::column(j, 0);
        const float2 pair = make_float2(sums.at[i / 2][j][i % 2 * 2], sums.at[i / 2][j][i % 2 * 2 + 1]);
        float* const to = corner + row * d.c.row_stride + column;
        if (column + 1 < columns)
          *reinterpret_cast<float2*>(to) = pair;
        else if (column < columns)
          *to = pair.x;
      }
    }
    return;
  }
  // Registers cannot be indexed; the sums are copied to where they can, so that this code is there once. Eight elements
  // of a row at a time, whose loads are in flight together; the activation, which is long, has a loop of its own.
  constexpr int in_row = Accumulators::column_tiles * 2;
  float finished[Accumulators::row_tiles * 2][in_row];
#pragma unroll
  for (int i = 0; i < Accumulators::row_tiles * 2; ++i)
#pragma unroll
    for (int j = 0; j < in_row; ++j) finished[i][j] = sums.at[i / 2][j / 2][i % 2 * 2 + j % 2];
  Epilogue<float, float> linear = p.epilogue;
  linear.activation = Activation::none;
#pragma unroll 1
  for (int i = 0; i < Accumulators::row_tiles * 2; ++i) {
    const int row = Accumulators::row(i / 2, i % 2 * 2);
    if (row >= rows) continue;
    float* const to = corner + row * d.c.row_stride;
    float before[in_row];
#pragma unroll
    for (int j = 0; j < in_row; ++j) {
      const int column = Accumulators::column(j / 2, j % 2);
      before[j] = p.epilogue.reads_c && column < columns ? to[column * d.c.column_stride] : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < in_row; ++j) {
      const int column = Accumulators::column(j / 2, j % 2);
      if (column >= columns) continue;
      const float x = linear.is_plain
                          ? finished[i][j]
                          : linear.value(finished[i][j], before[j], work_tile.row + row, work_tile.column + column);
      if (p.epilogue.activation == Activation::none) {
        to[column * d.c.column_stride] = x;
      } else {
        finished[i][j] = x;
      }
    }
    if (p.epilogue.activation == Activation::none) continue;
#pragma unroll 1
    for (int j = 0; j < in_row; ++j) {
      const int column = Accumulators::column(j / 2, j % 2);
      if (column < columns) to[column * d.c.column_stride] = p.epilogue.activate(finished[i][j]);
    }
  }
}

/// Persistent: while a block stores a tile, the elements of the next one are on their way.
template <class S>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm) f32_mma_kernel(const __grid_constant__ F32Work w) {
  extern __shared__ __align__(128) std::byte shared[];
  auto& space = *reinterpret_cast<F32Space<S>*>(shared);
  using Accumulators = WarpAccumulators<S>;
  const GemmDescription& d = w.product.d;
  const int first_vector = static_cast<int>(threadIdx.x) / 32 * warp_vectors;
  const bool k_major = first_vector < S::bm ? w.a_k_major : w.b_k_major;
  const int chunks = static_cast<int>((d.k + chunk_k - 1) / chunk_k);

  // Dividing takes a while: one thread finds out where the next tile is.
  const auto find = [&](int slot, std::uint32_t index) {
    if (threadIdx.x == 0 && index < w.work_tiles)
      space.work_tiles[slot] = simt::work_tile_at(w.product.division, index, S::bm, S::bn);
  };
  find(0, blockIdx.x);
  __syncthreads();
  VectorSource source = source_of<S>(w, space.work_tiles[0]);
  Elements x;
  source.load(x);
  int slot = 0;
  for (std::uint32_t index = blockIdx.x; index < w.work_tiles; index += gridDim.x) {
    const simt::WorkTile& work_tile = space.work_tiles[slot];
    slot = slot == 2 ? 0 : slot + 1;
    find(slot, index + gridDim.x);
    VectorState state;
    Accumulators sums;
    bool shrinks = false;
    // A chunk is split while the one before it is multiplied.
    for (int chunk = 0; chunk <= chunks; ++chunk) {
      bool next_shrinks = false;
      if (chunk < chunks) {
        SliceTile<S::vectors>& to = space.slices[chunk % 2];
        float* const shrink = space.shrink[chunk % 2];
        next_shrinks = k_major ? split_vectors<true>(to, first_vector, x, state, shrink)
                               : split_vectors<false>(to, first_vector, x, state, shrink);
        const bool is_last = chunk + 1 == chunks;
        if (is_last && index + gridDim.x < w.work_tiles) source = source_of<S>(w, space.work_tiles[slot]);
        if (!is_last || index + gridDim.x < w.work_tiles) source.load(x);
      }
      if (chunk > 0) {
        if (shrinks) sums.shrink(space.shrink[(chunk - 1) % 2]);
        sums.add(space.slices[(chunk - 1) % 2]);
      }
      shrinks = __syncthreads_or(next_shrinks);
    }

    if (k_major ? VectorView<true>::is_keeper() : VectorView<false>::is_keeper()) {
      const int own = first_vector + (k_major ? VectorView<true>::own_vector() : VectorView<false>::own_vector());
      space.scale_back[own] = scale_back_of(state.scale);
      space.error[own] = state.error(w.underflow_scale);
    }
    __syncthreads();
    bool doubts = false;
    sums.for_each([&](float& sum, int row, int column, int, int, int) {
      doubts = doubts | is_doubtful(sum, space.error[row], space.error[S::bm + column]);
    });
    doubts = __syncthreads_or(doubts);
    if (threadIdx.x == 0 && w.tiles != nullptr) {
      auto* const tiles = reinterpret_cast<unsigned long long*>(w.tiles);
      atomicAdd(tiles, 1ull);
      if (doubts) atomicAdd(tiles + 1, 1ull);
    }
    const auto scaled_back = [&](float sum, int row, int column) {
      const float2 by_row = space.scale_back[row], by_column = space.scale_back[S::bm + column];
      return sum * (by_row.x * by_column.x) * (by_row.y * by_column.y);
    };
    if (doubts) {
      Accumulators plain;
      sum_plainly<S>(plain, space, w, work_tile);
      sums.for_each([&](float& sum, int row, int column, int i, int j, int e) {
        sum = is_doubtful(sum, space.error[row], space.error[S::bm + column]) ? plain.at[i][j][e]
                                                                              : scaled_back(sum, row, column);
      });
    } else {
      sums.for_each([&](float& sum, int row, int column, int, int, int) { sum = scaled_back(sum, row, column); });
    }
    store_tile<S>(sums, w.product, work_tile);
  }
}

}  // namespace exactile::cuda::sm80
