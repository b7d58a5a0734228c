// SPDX-License-Identifier: Apache-2.0
/// \file
/// Vectors times a matrix. A CTA brings its slice of the vectors to shared memory, in the type that sums, and streams
/// a tile of W from memory to registers, one step ahead of the multiply-adds.
///
///     K contiguous            a warp has 4 columns of W; its lanes share K, and add their sums by shuffles
///     N contiguous            a lane has 16 bytes of each row; the warps share K, and add their sums in shared memory
///
/// Slices of K are added in order: from the shared memory of the CTAs of a cluster, then those of clusters by a second
/// kernel from memory.
/// The order of a sum follows from K, the element type, how W is aligned, SPLIT_K and whether the device has clusters.
#pragma once

#include <algorithm>

#include "cuda/kernels/gemv/division.hpp"
#include "cuda/tile/cluster_sums.cuh"
#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::gemv_family {

/// What C may be beside the type that sums: the narrow floats' own type, or bf16 for 8 bits.
template <class In>
using UsualOut =
    std::conditional_t<std::is_same_v<In, __nv_fp8_e4m3> || std::is_same_v<In, __nv_fp8_e5m2>, __nv_bfloat16,
                       std::conditional_t<std::is_integral_v<In>, DeviceAccumulator<In>, In>>;

/// A product as oriented(). Passed by value.
template <class In>
struct Parameters {
  GemmDescription d;
  const In* a;
  const In* w;
  void* c;
  DeviceAccumulator<In>* sums;  ///< [product][cluster][m][n], where they meet in memory
  Epilogue<In, UsualOut<In>> epilogue;
  Epilogue<In, DeviceAccumulator<In>> epilogue_of_sums;  ///< where C has the type that sums
  bool c_is_of_sums;
  std::int64_t column_tiles;
  std::int64_t k_of_slice;
  int split_k;
  int ranks;  ///< of a cluster
};

/// Finishes element (i, j).
template <class In>
__device__ void store(const Parameters<In>& p, std::int64_t product, std::int64_t i, std::int64_t j,
                      DeviceAccumulator<In> sum) {
  const OperandLayout& layout = p.d.c;
  const std::int64_t place = i * layout.row_stride + j * layout.column_stride;
  if (std::is_same_v<UsualOut<In>, DeviceAccumulator<In>> || !p.c_is_of_sums) {
    p.epilogue.store(product_base(static_cast<UsualOut<In>*>(p.c), layout, product) + place, sum, i, j);
  } else {
    p.epilogue_of_sums.store(product_base(static_cast<DeviceAccumulator<In>*>(p.c), layout, product) + place, sum, i,
                             j);
  }
}

/// An instance. `is_aligned`: W is read by vectors, else by elements.
template <class InT, int Rows, Contiguous where, bool is_aligned>
struct Shape {
  using In = InT;
  using Accumulator = DeviceAccumulator<In>;
  static constexpr int size = static_cast<int>(sizeof(In));
  static constexpr int rows = Rows;
  static constexpr bool along_k = where == Contiguous::k;
  /// Elements of a load.
  static constexpr int width = is_aligned ? (along_k ? 16 / size : std::min(most_elements_of_lane, 16 / size)) : 1;
  /// Loads that give a lane what one would where W is aligned.
  static constexpr int loads = std::max(1, std::min(most_elements_of_lane, 16 / size) / width);
  static constexpr int columns = along_k ? columns_of_warp : loads * width;  ///< of a lane
  /// Columns of W, or rows of it, in a warp's step: 64 bytes of a lane where N is contiguous.
  static constexpr int lines = along_k ? columns : 64 / (columns * size);
  static constexpr int tile_columns = along_k ? warps * columns : 32 * columns;
  static constexpr int step = along_k ? 32 * loads * width : warps * lines;  ///< of K, of a CTA
  /// Of K, kept in shared memory at a time.
  static constexpr int chunk = std::min(2048, 16384 / (rows * static_cast<int>(sizeof(Accumulator))));
  static constexpr int bytes_of_sums = rows * columns * static_cast<int>(sizeof(Accumulator));  ///< of a lane
  static constexpr int ctas_per_sm = ctas_of_sm(bytes_of_sums);
  static_assert(chunk % step == 0 && slice_step(where, size) % step == 0);
};

template <class T, int width>
struct alignas(width * sizeof(T)) Vector {
  T at[width];
};

/// `width` neighbours, or one element; those from `valid` on are 0. `full`: all are valid.
template <int width, bool full, class In>
[[nodiscard]] __device__ inline Vector<In, width> load(const In* from, std::int64_t valid) {
  if constexpr (full) return *reinterpret_cast<const Vector<In, width>*>(from);
  Vector<In, width> x{};
#pragma unroll
  for (int e = 0; e < width; ++e)
    if (e < valid) x.at[e] = from[e];
  return x;
}

/// The vectors: elements of each row from k on, in the type that sums, 0 where there are none.
template <class S>
class Vectors {
 public:
  using Accumulator = typename S::Accumulator;
  /// Elements that a lane reads at a time: where K is contiguous those of a load from W or half of them, else those
  /// that meet its lines of W.
  static constexpr int width =
      std::min(S::along_k ? S::width : S::lines, std::max(1, 16 / static_cast<int>(sizeof(Accumulator))));
  using Read = Vector<Accumulator, width>;

  __device__ explicit Vectors(Accumulator* shared) : shared_(shared) {}

  template <class In>
  __device__ void fill(const In* a, const OperandLayout& layout, std::int64_t m, std::int64_t k, std::int64_t k_end) {
    const auto count =
        static_cast<int>(min(static_cast<std::int64_t>(S::chunk), k_end - k + S::step - 1)) / S::step * S::step;
#pragma unroll
    for (int r = 0; r < S::rows; ++r)
#pragma unroll 4
      for (int p = static_cast<int>(threadIdx.x); p < count; p += threads)
        shared_[r * S::chunk + place(p)] =
            r < m && k + p < k_end ? widen(a[r * layout.row_stride + (k + p) * layout.column_stride]) : Accumulator{};
  }

  /// Part `part` of what meets the lane's load that begins at `load` for lane 0; or, where N is contiguous, of what
  /// meets lines from `load` on.
  [[nodiscard]] __device__ Read read(int r, int load, int part) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int at = S::along_k ? (part * 32 + lane) * width : part * width;
    return *reinterpret_cast<const Read*>(shared_ + r * S::chunk + load + at);
  }

 private:
  /// Where K is contiguous, what lanes read at the same time lies side by side.
  static __device__ int place(int p) {
    if constexpr (!S::along_k || S::width == width) return p;
    constexpr int group = 32 * S::width;
    const int in_group = p % group, lane = in_group / S::width, e = in_group % S::width;
    return p - in_group + (e / width * 32 + lane) * width + e % width;
  }

  Accumulator* shared_;
};

/// What a lane holds of W for a step: of each column, or of each line, some loads.
template <class S>
struct Step {
  Vector<typename S::In, S::width> at[S::lines][S::loads];
};

/// A CTA's part of W.
template <class S>
class Stream {
 public:
  using In = typename S::In;
  using Accumulator = typename S::Accumulator;

  __device__ Stream(const GemmDescription& d, const In* w, std::int64_t column, std::int64_t k_end)
      : k_stride_(d.b.row_stride), n_stride_(d.b.column_stride), k_end_(k_end) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t first = column + (S::along_k ? warp * S::columns : lane * S::width);
    in_step_ = S::along_k ? lane * S::width : warp * S::lines;
    w_ = w + first * n_stride_ + in_step_ * k_stride_;
    columns_ = d.n - first;
    has_all_columns_ = S::along_k ? columns_ >= S::columns : column + S::tile_columns <= d.n;
  }

  __device__ void load_step(Step<S>& to, std::int64_t k) const {
    if (has_all_columns_ && k + S::step <= k_end_) {
      load_step<true>(to, k);
    } else {
      load_step<false>(to, k);
    }
  }

  /// `p`: where the step begins in the vectors.
  __device__ void multiply(const Step<S>& step, const Vectors<S>& vectors, int p,
                           Accumulator (&sums)[S::rows][S::columns]) const {
    constexpr int width = Vectors<S>::width;
    if constexpr (S::along_k) {
#pragma unroll
      for (int l = 0; l < S::loads; ++l)
#pragma unroll
        for (int part = 0; part < S::width / width; ++part)
#pragma unroll
          for (int r = 0; r < S::rows; ++r) {
            const auto x = vectors.read(r, p + l * 32 * S::width, part);
#pragma unroll
            for (int e = 0; e < width; ++e)
#pragma unroll
              for (int c = 0; c < S::columns; ++c)
                sums[r][c] = multiply_add(x.at[e], widen(step.at[c][l].at[part * width + e]), sums[r][c]);
          }
    } else {
#pragma unroll
      for (int part = 0; part < S::lines / width; ++part)
#pragma unroll
        for (int r = 0; r < S::rows; ++r) {
          const auto x = vectors.read(r, p + in_step_, part);
#pragma unroll
          for (int i = 0; i < width; ++i)
#pragma unroll
            for (int c = 0; c < S::columns; ++c)
              sums[r][c] =
                  multiply_add(x.at[i], widen(step.at[part * width + i][c / S::width].at[c % S::width]), sums[r][c]);
        }
    }
  }

 private:
  template <bool full>
  __device__ void load_step(Step<S>& to, std::int64_t k) const {
#pragma unroll
    for (int i = 0; i < S::lines; ++i)
#pragma unroll
      for (int l = 0; l < S::loads; ++l) {
        constexpr int apart = 32 * S::width;  // loads of a lane
        const std::int64_t left_of_k = k_end_ - k - in_step_;
        if constexpr (S::along_k) {
          to.at[i][l] = load<S::width, full>(w_ + i * n_stride_ + (k + l * apart) * k_stride_,
                                             i < columns_ ? left_of_k - l * apart : 0);
        } else {
          to.at[i][l] = load<S::width, full>(w_ + (k + i) * k_stride_ + l * apart * n_stride_,
                                             i < left_of_k ? columns_ - l * apart : 0);
        }
      }
  }

  const In* w_;
  std::int64_t k_stride_, n_stride_, k_end_, columns_;
  int in_step_;
  bool has_all_columns_;
};

template <class T>
[[nodiscard]] __device__ inline T from_lane(T x, int mask) {
  if constexpr (is_complex_v<T>) {
    return {__shfl_xor_sync(0xffffffffU, x.real, mask), __shfl_xor_sync(0xffffffffU, x.imaginary, mask)};
  } else if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
    return static_cast<T>(__shfl_xor_sync(0xffffffffU, static_cast<long long>(x), mask));
  } else {
    return __shfl_xor_sync(0xffffffffU, x, mask);
  }
}

/// Adds the CTA's sums up: [row][column of the tile] in shared memory. All threads have left the vectors behind.
template <class S>
__device__ void collect(typename S::Accumulator (&sums)[S::rows][S::columns], typename S::Accumulator* tile) {
  using Accumulator = typename S::Accumulator;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (S::along_k) {
#pragma unroll
    for (int r = 0; r < S::rows; ++r)
#pragma unroll
      for (int c = 0; c < S::columns; ++c) {
        Accumulator x = sums[r][c];
#pragma unroll
        for (int mask = 16; mask > 0; mask /= 2) x = add(x, from_lane(x, mask));
        if (lane == 0) tile[r * S::tile_columns + warp * S::columns + c] = x;
      }
    __syncthreads();
  } else {
    Accumulator* const of_warps = tile + S::rows * S::tile_columns;  // [warp][column]
#pragma unroll
    for (int r = 0; r < S::rows; ++r) {
#pragma unroll
      for (int c = 0; c < S::columns; ++c)
        of_warps[warp * S::tile_columns + c / S::width * (32 * S::width) + lane * S::width + c % S::width] = sums[r][c];
      __syncthreads();
      for (int j = static_cast<int>(threadIdx.x); j < S::tile_columns; j += threads) {
        Accumulator x = of_warps[j];
#pragma unroll
        for (int other = 1; other < warps; ++other) x = add(x, of_warps[other * S::tile_columns + j]);
        tile[r * S::tile_columns + j] = x;
      }
      __syncthreads();
    }
  }
}

/// The vectors, and afterwards the CTA's sums, and where N is contiguous those of its warps.
template <class S>
inline constexpr int shared_bytes = static_cast<int>(sizeof(typename S::Accumulator)) *
                                    std::max(S::rows* S::chunk, (S::rows + (S::along_k ? 0 : warps)) * S::tile_columns);

template <class S>
__global__ void __launch_bounds__(threads, S::ctas_per_sm)
    gemv_kernel(const __grid_constant__ Parameters<typename S::In> p) {
  using Accumulator = typename S::Accumulator;
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const kept = reinterpret_cast<Accumulator*>(shared);
  const GemmDescription& d = p.d;
  const std::int64_t tile = blockIdx.x / static_cast<unsigned>(p.split_k);
  const auto slice = static_cast<int>(blockIdx.x % static_cast<unsigned>(p.split_k));
  const std::int64_t product = tile / p.column_tiles;
  const std::int64_t column = (tile - product * p.column_tiles) * S::tile_columns;
  const std::int64_t k_begin = slice * p.k_of_slice;
  const std::int64_t k_end = min(k_begin + p.k_of_slice, d.k);

  start_kernel_after();
  wait_for_kernel_before();
  Vectors<S> vectors(kept);
  const Stream<S> stream(d, product_base(p.w, d.b, product), column, k_end);
  const auto* const a = product_base(p.a, d.a, product);
  Accumulator sums[S::rows][S::columns] = {};
  Step<S> now, next;
  stream.load_step(now, k_begin);
  for (std::int64_t k = k_begin; k < k_end; k += S::chunk) {
    if (k > k_begin) __syncthreads();
    vectors.fill(a, d.a, d.m, k, k_end);
    __syncthreads();
    const auto count = static_cast<int>(min(static_cast<std::int64_t>(S::chunk), k_end - k));
#pragma unroll 2
    for (int at = 0; at < count; at += S::step) {
      stream.load_step(next, k + at + S::step);
      stream.multiply(now, vectors, at, sums);
      now = next;
    }
  }
  __syncthreads();
  collect<S>(sums, kept);

  const int ranks = p.ranks;
  if (ranks > 1) cluster_barrier();
  const int rank = slice % ranks;
  for (int e = rank * threads + static_cast<int>(threadIdx.x); e < S::rows * S::tile_columns; e += ranks * threads) {
    const int i = e / S::tile_columns;
    const std::int64_t j = column + e % S::tile_columns;
    if (i >= d.m || j >= d.n) continue;
    Accumulator of_rank[most_ranks];
#pragma unroll
    for (int r = 0; r < most_ranks; ++r) of_rank[r] = r < ranks ? *in_cta(kept + e, r) : Accumulator{};
    Accumulator x = of_rank[0];
#pragma unroll
    for (int r = 1; r < most_ranks; ++r)
      if (r < ranks) x = add(x, of_rank[r]);
    if (p.split_k > ranks) {
      p.sums[(((product * p.split_k + slice) / ranks) * d.m + i) * d.n + j] = x;
    } else {
      store(p, product, i, j, x);
    }
  }
  if (ranks > 1) cluster_barrier();  // no CTA leaves while others read its sums
}

/// Adds the clusters' sums in order; a thread an element.
template <class In>
__global__ void __launch_bounds__(threads) reduce_kernel(const __grid_constant__ Parameters<In> p) {
  const GemmDescription& d = p.d;
  const std::int64_t elements = d.m * d.n;
  start_kernel_after();
  wait_for_kernel_before();
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       index < elements * d.batch_count; index += stride) {
    const std::int64_t product = index / elements, element = index - product * elements;
    const std::int64_t i = element / d.n, j = element - i * d.n;
    const int clusters = p.split_k / p.ranks;
    const DeviceAccumulator<In>* const sums = p.sums + product * clusters * elements + element;
    DeviceAccumulator<In> x = sums[0];
#pragma unroll 8
    for (int cluster = 1; cluster < clusters; ++cluster) x = add(x, sums[cluster * elements]);
    store(p, product, i, j, x);
  }
}

}  // namespace exactile::cuda::gemv_family
