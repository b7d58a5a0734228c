// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products with a few rows (or columns: the transposed product): every element of B is used for each row only, so that
/// what counts is to keep as many bytes on their way from memory as it takes.
///
/// A lane computes a column, a warp 32 columns of one chunk of K, and a block's warps take the chunks of its columns in
/// turns. Each warp streams its part of B, 2 or 4 KiB a stage, through a pipeline of its own in shared memory, and
/// meets the others only where the chunks are added up, in order. Blocks that share K are a cluster and read each
/// other's sums of chunks, or where there are too many of them, or no clusters, leave theirs to
/// enqueue_splitk_reduce().
#pragma once

#include "cuda/isa/copy_async.cuh"
#include "cuda/kernels/simt/splitk_reduce_cluster.cuh"
#include "cuda/tile/early_launch.cuh"

namespace exactile::cuda::simt {

/// Where B is contiguous.
enum class Contiguous { n_contiguous, k_contiguous };

template <class T, int Rows, Contiguous where, bool wide>
struct Stream {
  using Element = T;
  static constexpr int rows = Rows;
  static constexpr int columns = 32;
  static constexpr int stages = wide ? (Rows == 1 ? 6 : 5) : 8;
  static constexpr int stage_bytes = wide ? 4096 : 2048;
  static constexpr int stage_k = stage_bytes / (columns * static_cast<int>(sizeof(T)));  ///< of a stage
  static constexpr bool k_major = where == Contiguous::k_contiguous;
  static constexpr int vector = 16 / static_cast<int>(sizeof(T));
  static constexpr int at_once = wide ? vector : 1;  ///< elements of a copy
  static constexpr int line = k_major ? stage_k : columns;
  static constexpr int lanes_per_line = line / at_once;
  static constexpr int lines_at_once = 32 / lanes_per_line;
  static constexpr int copies = (k_major ? columns : stage_k) / lines_at_once;   ///< of a lane for a stage
  static constexpr int pipeline_elements = stages * (columns + Rows) * stage_k;  ///< of a warp
  static_assert(few_rows_piece_k % stage_k == 0 && 32 % lanes_per_line == 0);
};

/// How a product with few rows is divided: a block does `tiles` tiles of 32 columns, a warp for each and each of
/// `chunk_warps` chunks, and those of a K slice in turns.
struct FewRowsDivision {
  Division division;
  int chunk_warps;
  int tiles;
  bool in_clusters;  ///< K slices of a tile are neighbouring blocks; otherwise their sums meet in memory

  [[nodiscard]] __host__ __device__ int warps() const { return chunk_warps * tiles; }
  [[nodiscard]] __host__ __device__ bool reduces_in_memory() const { return division.split_k > 1 && !in_clusters; }
};

/// One warp's share of B, and the rows of A that go with it, on their way through its pipeline.
template <class S>
class WarpStream {
 public:
  using T = typename S::Element;

  /// Chunks first_chunk, first_chunk + step, ... before end_chunk.
  __device__ WarpStream(const GemmDescription& d, const T* a, const T* b, std::int64_t column, std::int64_t first_chunk,
                        int step, std::int64_t end_chunk, T* pipeline)
      : a_(a),
        a_row_stride_(d.a.row_stride),
        a_k_stride_(d.a.column_stride),
        rows_(static_cast<int>(d.m)),
        line_stride_(S::k_major ? d.b.column_stride : d.b.row_stride),
        pipeline_(pipeline),
        lane_(threadIdx.x % 32),
        k_(first_chunk * chunk_k),
        end_(min(end_chunk * chunk_k, d.k)),
        skip_(static_cast<std::int64_t>(step - 1) * chunk_k) {
    const int in_line = lane_ % S::lanes_per_line * S::at_once;
    const int line = lane_ / S::lanes_per_line;
    first_column_ = S::k_major ? line : in_line;
    first_k_ = S::k_major ? in_line : line;
    columns_ = d.n - column;
    b_ = b + (column + first_column_) * d.b.column_stride + (k_ + first_k_) * d.b.row_stride;
    b_k_stride_ = d.b.row_stride;
#pragma unroll
    for (int stage = 0; stage < S::stages; ++stage) fetch(stage);
  }

  /// sums[p % vector][r] += A[r][p] * B[p][lane's column] for the terms of the oldest stage, in order; prefetches one
  /// more in its place.
  __device__ void multiply(T (&sums)[S::vector][S::rows]) {
    isa::copy_async_wait<S::stages - 1>();
    __syncwarp();
    const T* const b = slot_of(slot_);
    const T* const a = b + S::columns * S::stage_k;
#pragma unroll
    for (int p = 0; p < S::stage_k; p += S::vector) {
      Pack<T> x[S::rows], y;
#pragma unroll
      for (int r = 0; r < S::rows; ++r) x[r] = *reinterpret_cast<const Pack<T>*>(a + r * S::stage_k + p);
      if constexpr (S::k_major) {
        y = *reinterpret_cast<const Pack<T>*>(b + place(lane_, p));
      } else {
#pragma unroll
        for (int e = 0; e < S::vector; ++e) y.at[e] = b[(p + e) * S::columns + lane_];
      }
#pragma unroll
      for (int e = 0; e < S::vector; ++e)
#pragma unroll
        for (int r = 0; r < S::rows; ++r) sums[e][r] = multiply_add(x[r].at[e], y.at[e], sums[e][r]);
    }
    __syncwarp();
    fetch(slot_);
    slot_ = slot_ == S::stages - 1 ? 0 : slot_ + 1;
  }

 private:
  [[nodiscard]] __device__ T* slot_of(int slot) const { return pipeline_ + slot * (S::columns + S::rows) * S::stage_k; }

  /// Where B is K-major, the vectors of a column are swapped, so that lanes that read one each of their columns find
  /// them in different banks.
  [[nodiscard]] __device__ static int place(int column, int k) {
    if constexpr (!S::k_major) return k * S::columns + column;
    constexpr int vectors = S::stage_k / S::vector;
    const int swap = column / (8 / vectors) % vectors;
    return column * S::stage_k + ((k / S::vector) ^ swap) * S::vector + k % S::vector;
  }

  __device__ void fetch(int slot) {
    T* const to = slot_of(slot);
    const int valid_k = static_cast<int>(min(end_ - k_, static_cast<std::int64_t>(S::stage_k)));  // may be negative
    const T* from = b_;
#pragma unroll
    for (int i = 0; i < S::copies; ++i) {
      const int column = first_column_ + (S::k_major ? i * S::lines_at_once : 0);
      const int k = first_k_ + (S::k_major ? 0 : i * S::lines_at_once);
      const std::int64_t valid =
          S::k_major ? (column < columns_ ? valid_k - k : 0) : (k < valid_k ? columns_ - column : 0);
      isa::copy_async<S::at_once * sizeof(T)>(
          to + place(column, k), from,
          static_cast<int>(max(std::int64_t{0}, min(valid, std::int64_t{S::at_once})) * sizeof(T)));
      from += S::lines_at_once * line_stride_;
    }
#pragma unroll
    for (int i = 0; i < (S::rows * S::stage_k + 31) / 32; ++i) {
      const int row = (i * 32 + lane_) / S::stage_k, k = lane_ % S::stage_k;
      if (row < S::rows)
        isa::copy_async<sizeof(T)>(to + S::columns * S::stage_k + row * S::stage_k + k,
                                   a_ + row * a_row_stride_ + (k_ + k) * a_k_stride_,
                                   row < rows_ && k < valid_k ? sizeof(T) : 0);
    }
    isa::copy_async_commit();
    std::int64_t forward = S::stage_k;
    if ((k_ + S::stage_k) % chunk_k == 0) forward += skip_;
    k_ += forward;
    b_ += forward * b_k_stride_;
  }

  const T* a_;
  std::int64_t a_row_stride_, a_k_stride_;
  int rows_;
  const T* b_;
  std::int64_t b_k_stride_, line_stride_;
  T* pipeline_;
  int lane_;
  std::int64_t k_;  ///< first one of the next stage to prefetch
  std::int64_t end_;
  std::int64_t skip_;  ///< terms of other warps' chunks between two of this one's
  std::int64_t columns_;
  int first_column_, first_k_;
  int slot_ = 0;
};

/// The sum of row r of a piece; see summation_order.hpp.
template <class S>
[[nodiscard]] __device__ inline typename S::Element sum_of_piece(const typename S::Element (&sums)[S::vector][S::rows],
                                                                 int r) {
  typename S::Element parts[S::vector];
#pragma unroll
  for (int e = 0; e < S::vector; ++e) parts[e] = sums[e][r];
#pragma unroll
  for (int step = 1; step < S::vector; step *= 2)
#pragma unroll
    for (int e = 0; e < S::vector; e += 2 * step) parts[e] = add(parts[e], parts[e + step]);
  return parts[0];
}

template <class S, class Out>
__global__ void few_rows_kernel(const __grid_constant__ Parameters<typename S::Element, Out> p,
                                const __grid_constant__ FewRowsDivision few) {
  using T = typename S::Element;
  extern __shared__ __align__(16) unsigned char shared[];
  const GemmDescription& d = p.d;
  const Division& division = p.division;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  auto* const pipelines = reinterpret_cast<T*>(shared);
  T* const chunk_sums = pipelines + few.warps() * S::pipeline_elements;  // [tile][chunk][row][column]

  const std::uint32_t tile_of_c = blockIdx.x / division.split_k;
  const auto k_slice = static_cast<int>(blockIdx.x % division.split_k);
  const std::int64_t product = tile_of_c / division.column_tiles;
  const std::int64_t chunk_begin = k_slice * division.chunks_per_slice;
  const std::int64_t chunk_end = min(chunk_begin + division.chunks_per_slice, division.chunks);
  const std::int64_t block_column =
      static_cast<std::int64_t>(tile_of_c % division.column_tiles) * few.tiles * S::columns;
  const int tile = warp / few.chunk_warps;
  const std::int64_t column = block_column + tile * S::columns;

  start_kernel_after();
  wait_for_kernel_before();
  if (column < d.n && chunk_begin + warp % few.chunk_warps < chunk_end) {
    const std::int64_t first_chunk = chunk_begin + warp % few.chunk_warps;
    WarpStream<S> stream(d, product_base(p.a, d.a, product), product_base(p.b, d.b, product), column, first_chunk,
                         few.chunk_warps, chunk_end, pipelines + warp * S::pipeline_elements);
    for (std::int64_t chunk = first_chunk; chunk < chunk_end; chunk += few.chunk_warps) {
      const auto k_of_chunk = static_cast<int>(min(d.k - chunk * chunk_k, std::int64_t{chunk_k}));
      T sums[S::rows] = {};
      for (int k = 0; k < k_of_chunk; k += few_rows_piece_k) {
        T piece[S::vector][S::rows] = {};
#pragma unroll
        for (int stage = 0; stage < few_rows_piece_k / S::stage_k; ++stage) stream.multiply(piece);
#pragma unroll
        for (int r = 0; r < S::rows; ++r) sums[r] = add(sums[r], sum_of_piece<S>(piece, r));
      }
      T* const to = chunk_sums + (tile * division.chunks_per_slice + (chunk - chunk_begin)) * (S::rows * S::columns);
#pragma unroll
      for (int r = 0; r < S::rows; ++r) to[r * S::columns + lane] = sums[r];
    }
  }
  __syncthreads();

  const bool apart = division.split_k > 1 && !few.in_clusters;
  const int ranks = apart ? 1 : static_cast<int>(division.split_k);
  if (ranks > 1) cluster_barrier();
  constexpr int of_chunk = S::rows * S::columns;
  const int rank = apart ? 0 : k_slice;
  for (int e = rank * blockDim.x + threadIdx.x; e < few.tiles * of_chunk; e += ranks * blockDim.x) {
    const std::int64_t i = e % of_chunk / S::columns;
    const std::int64_t j = block_column + e / of_chunk * S::columns + e % S::columns;
    if (i >= d.m || j >= d.n) continue;
    const T* const own = chunk_sums + e / of_chunk * division.chunks_per_slice * of_chunk + e % of_chunk;
    if (apart) {
      store_chunk_sums(p, product, chunk_begin, chunk_end - chunk_begin, i, j, own, of_chunk);
    } else {
      splitk_reduce_cluster(p, product, i, j, own, of_chunk, ranks);
    }
  }
  if (ranks > 1) cluster_barrier();  // no block leaves while others read its sums
}

}  // namespace exactile::cuda::simt
