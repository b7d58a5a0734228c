// SPDX-License-Identifier: Apache-2.0
/// \file
/// Vectors times a matrix. A CTA brings its slice of the vectors to shared memory, in the type it multiplies (8-bit
/// floats for tensor cores as they are), and streams a tile of W from memory to registers, some steps ahead of the
/// multiply-adds.
///
///     K contiguous            32 or 8 lanes share K and have 2 to 4 columns of W; they add their sums by shuffles
///                             (8-bit floats, 4 lanes: tensor cores multiply, as f16, and add them; the warps share K,
///                             too, but where lines begin anywhere)
///     N contiguous            32 or 8 lanes have 16 bytes of a row each (8 where C has many rows or W has 8-bit
///                             floats, or two elements of 16); the others share K, and all add their sums in shared
///                             memory (8-bit floats, 8 lanes: tensor cores multiply, as f16)
///
/// Where lines of W begin anywhere, the aligned vectors in which they lie are read. Every eighth line begins alike, so
/// a warp takes those: what it multiplies them by is shifted by as much in shared memory, or its sums are.
///
/// Slices of K are added in order: from the shared memory of the CTAs of a cluster, then those of clusters by a second
/// kernel from memory.
/// The order of a sum follows from K, the element type, how lines of W begin, SPLIT_K, BN, whether there are more than
/// 4 vectors, and whether the device has clusters.
#pragma once

#include <algorithm>

#include "cuda/kernels/gemv/collect.cuh"
#include "cuda/kernels/gemv/stream.cuh"
#include "cuda/tile/cluster_sums.cuh"
#include "cuda/tile/early_launch.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::gemv_family {

/// What C may be beside the type that sums: the narrow floats' own type, or bf16 for 8 bits.
template <class In>
using UsualOut = std::conditional_t<is_f8_v<In>, __nv_bfloat16,
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
  unsigned column_tiles;
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

template <class S>
using VectorsOf = std::conditional_t<S::by_mma, RawVectors<S>, Vectors<S>>;

/// The vectors, and afterwards the CTA's sums, and those of its warps where they meet there.
template <class S>
inline constexpr int shared_bytes =
    std::max(VectorsOf<S>::bytes,
             static_cast<int>(sizeof(typename S::Accumulator)) *
                 (S::rows * S::window + (S::along_k && !S::by_mma ? 0 : S::parts * rows_at_once<S> * pitch<S>)));

template <class S>
__global__ void __launch_bounds__(threads, S::ctas_per_sm)
    gemv_kernel(const __grid_constant__ Parameters<typename S::In> p) {
  using Accumulator = typename S::Accumulator;
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const kept = reinterpret_cast<Accumulator*>(shared);
  const GemmDescription& d = p.d;
  const unsigned tile = blockIdx.x / static_cast<unsigned>(p.split_k);  // division of 64 bits takes a while
  const auto slice = static_cast<int>(blockIdx.x % static_cast<unsigned>(p.split_k));
  const std::int64_t product = tile / p.column_tiles;
  const std::int64_t column = static_cast<std::int64_t>(tile % p.column_tiles) * S::tile_columns;
  const std::int64_t k_begin = slice * p.k_of_slice;
  // Lines that begin within a vector are as much longer.
  const std::int64_t all_k = d.k + (S::along_k && S::is_shifted ? S::width - 1 : 0);
  const std::int64_t k_end = slice == p.split_k - 1 ? all_k : min(k_begin + p.k_of_slice, all_k);

  start_kernel_after();
  wait_for_kernel_before();
  const auto* const w = product_base(p.w, d.b, product);
  const Stream<S> stream(d, w, column);
  VectorsOf<S> vectors(shared, stream.shift());
  const auto* const a = product_base(p.a, d.a, product);
  typename S::Sums sums = {};
  // Steps are loaded while those before them are multiplied, of which there is none at first.
  constexpr int ahead = S::ahead, held = ahead + 1;
  Step<S> steps[held];
  if (k_begin < k_end) vectors.begin(a, d, k_begin, k_end);  // nobody would wait for what an empty slice asks for
  int in_chunk = -ahead * S::step;
  for (std::int64_t k = k_begin - ahead * S::step; k < k_end;) {
#pragma unroll
    for (int i = 0; i < held && k < k_end; ++i, k += S::step, in_chunk += S::step) {
      constexpr bool begins_in_last = S::chunk % (held * S::step) == 0;  // of those held
      if (i == ahead || !begins_in_last) {
        if (in_chunk == S::chunk) in_chunk = 0;
        if (in_chunk == 0) vectors.advance(a, d, k, k_end);
      }
      if (k + ahead * S::step < k_end) stream.load_step(steps[i], k + ahead * S::step);
      if (i < ahead && k < k_begin) continue;
      Step<S>& now = steps[(i + 1) % held];
      stream.clear_beyond_k(now, k);
      stream.multiply(now, vectors, in_chunk, sums);
    }
  }
  __syncthreads();
  collect<S>(sums, kept, [&](int warp) { return S::is_shifted && !S::along_k ? stream.shift_of(w, column, warp) : 0; });

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
  if (ranks > 1) leave_cluster();
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
