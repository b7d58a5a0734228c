// SPDX-License-Identifier: Apache-2.0
/// \file
/// Both passes of a split in one, for rows that fit in the shared memory of a CTA or, across K, of a cluster: every
/// element is read once. Where K is contiguous and not deep a CTA has whole rows; else the CTAs of a cluster share some
/// rows along K.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "cuda/isa/cluster.cuh"
#include "cuda/isa/copy_async.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/split_group.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90::split {

inline constexpr int whole_shared_bytes[] = {48 * 1024, 68 * 1024, 200 * 1024};  // four, three or one CTA of an SM
inline constexpr int whole_most_rows = 64;

/// How one operand is taken.
struct WholeShape {
  bool k_major;
  bool shares_k;    ///< among the CTAs of a cluster
  bool by_vectors;  ///< k_major: 16 bytes at a time
  int rows;         ///< of a CTA, or of a cluster
  int k_share;      ///< of a CTA
  int pitch;        ///< k_major: from row to row, otherwise from k to k; in floats
  int units;        ///< CTAs or clusters for one product

  [[nodiscard]] std::int64_t ctas(int batches, int cluster_size) const {
    const std::int64_t all = std::int64_t{units} * batches;
    return shares_k ? all * cluster_size : (all + cluster_size - 1) / cluster_size * cluster_size;
  }
};

struct WholePair {
  SplitPair operands;
  WholeShape a;
  WholeShape b;
  int cluster_size;
  unsigned a_ctas;  ///< the first ones
  bool next_begins_early;
  unsigned* zero;  ///< zeroed on the way
  std::int64_t zero_words;
};

/// The shape with that much shared memory, or rows = 0 if the operand is too deep. `share`: of all rows, an SM's.
[[nodiscard]] inline WholeShape whole_shape(const SplitOperand& operand, int cluster_size, int shared_bytes,
                                            std::int64_t share) {
  const bool k_major = std::abs(operand.layout.column_stride) <= std::abs(operand.layout.row_stride);
  const int slice_k = operand.slice_k();
  const int padded_k = (slice_k + tile - 1) / tile * tile;
  // Vectors must lie wholly inside: their number of elements divides what is there.
  const OperandLayout& layout = operand.layout;
  const bool by_vectors = layout.column_stride == 1 && layout.row_stride % 4 == 0 && operand.k % 4 == 0 &&
                          slice_k % 4 == 0 && layout.batch_stride % 4 == 0 && !layout.pointer_array &&
                          reinterpret_cast<std::uintptr_t>(operand.data) % 16 == 0;
  const int k_share = (padded_k / tile + cluster_size - 1) / cluster_size * tile;
  if (k_major) {
    const bool shares_k = 4 * (padded_k + 4) > whole_shared_bytes[0];
    const int ks = shares_k ? k_share : padded_k;
    const std::int64_t wanted = std::clamp<std::int64_t>(shares_k ? share * cluster_size : share, 1, whole_most_rows);
    const auto fit = static_cast<unsigned>(std::min<std::int64_t>(shared_bytes / 4 / (ks + 4), wanted));
    const int rows = fit == 0 ? 0 : static_cast<int>(std::bit_floor(fit));
    return {true, shares_k, by_vectors, rows, ks, ks + 4, rows == 0 ? 0 : operand.scales_pitch / rows};
  }
  for (const int rows : {32, 16, 8})
    if (k_share * (rows + 1) * 4 <= shared_bytes && (rows <= share * cluster_size || rows == 8))
      return {false, true, false, rows, k_share, rows + 1, operand.scales_pitch / rows};
  return {};
}

/// `width` neighbouring floats on their way to shared memory, zeros where they are not there.
template <int width>
__device__ inline void copy_floats(float* to, const float* from, bool are_there) {
  isa::copy_async<4 * width>(to, from, are_there ? 4 * width : 0);
}

/// This thread's copies are there, for this thread.
__device__ inline void wait_for_copies() {
  isa::copy_async_commit();
  isa::copy_async_wait<0>();
}

/// Rows whose K is contiguous, a warp or several to a row. buffer[row][k]; the maxima go to all that share K.
template <int width>
__device__ inline void load_k_major(float* buffer, unsigned* most, const float* from, const OperandLayout& layout,
                                    const WholeShape& shape, const ScaleSample& sample, int rows, int k0, int ks,
                                    int cluster_size) {
  const int warp = threadIdx.x / 32;
  const int warps_per_row = max(1, threads / 32 / shape.rows);
  const int first = (warp % warps_per_row * 32 + threadIdx.x % 32) * width;
  const int step = 32 * width * warps_per_row;
  const int first_row = warp / warps_per_row;
  const int row_step = threads / 32 / warps_per_row;
  for (int row = first_row; row < shape.rows; row += row_step) {
    const float* at = from + row * layout.row_stride + first * layout.column_stride;
    for (int k = first; k < shape.k_share; k += step, at += step * layout.column_stride)
      copy_floats<width>(buffer + row * shape.pitch + k, at, row < rows && k < ks);
  }
  wait_for_copies();
  for (int row = first_row; row < shape.rows; row += row_step) {
    unsigned bits = 0;
    for (int k = first; k < shape.k_share; k += step)
#pragma unroll
      for (int e = 0; e < width; ++e)
        bits = max(bits, sample.weighed(finite_bits(buffer[row * shape.pitch + k + e]), k0 + k + e));
    bits = __reduce_max_sync(~0u, bits);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (shape.shares_k) {
      if (lane < cluster_size) atomicMax(isa::of_cta(&most[row], lane), bits);
    } else if (lane == 0) {
      atomicMax(&most[row], bits);
    }
  }
}

/// Rows that are contiguous among themselves. buffer[k][row]; the maxima go to all CTAs of the cluster.
__device__ inline void load_mn_major(float* buffer, unsigned* most, const float* from, const OperandLayout& layout,
                                     const WholeShape& shape, const ScaleSample& sample, int rows, int k0, int ks,
                                     int cluster_size) {
  const int row = static_cast<int>(threadIdx.x) % shape.rows;
  const int first = static_cast<int>(threadIdx.x) / shape.rows;
  const int step = threads / shape.rows;
  const float* at = from + row * layout.row_stride + first * layout.column_stride;
  for (int k = first; k < shape.k_share; k += step, at += step * layout.column_stride)
    copy_floats<1>(buffer + k * shape.pitch + row, at, row < rows && k < ks);
  wait_for_copies();
  unsigned bits = 0;
#pragma unroll 8
  for (int k = first; k < shape.k_share; k += step)
    bits = max(bits, sample.weighed(finite_bits(buffer[k * shape.pitch + row]), k0 + k));
  // Threads of a warp that have the same row.
  for (int other = shape.rows; other < 32; other *= 2) bits = max(bits, __shfl_xor_sync(~0u, bits, other));
  if (static_cast<int>(threadIdx.x) % 32 < shape.rows)
    for (int cta = 0; cta < cluster_size; ++cta) atomicMax(isa::of_cta(&most[row], cta), bits);
}

template <class Slices>
__global__ void __launch_bounds__(threads, 3) split_whole(const __grid_constant__ WholePair pair) {
  extern __shared__ float buffer[];
  __shared__ unsigned most[whole_most_rows];
  __shared__ unsigned underflows[whole_most_rows];
  if (pair.next_begins_early) isa::start_kernel_after();
#pragma unroll 1  // or the compiler divides to know how often
  for (std::int64_t i = blockIdx.x * std::int64_t{threads} + threadIdx.x; i < pair.zero_words;
       i += std::int64_t{gridDim.x} * threads)
    pair.zero[i] = 0;

  const bool is_a = blockIdx.x < pair.a_ctas;
  const SplitOperand& operand = is_a ? pair.operands.a : pair.operands.b;
  const WholeShape& shape = is_a ? pair.a : pair.b;
  const int rank = shape.shares_k ? static_cast<int>(isa::cluster_rank()) : 0;
  // In 32 bits: dividing 64 takes long, and the first load waits for it.
  const unsigned cta = blockIdx.x - (is_a ? 0 : pair.a_ctas);
  const unsigned unit = shape.shares_k ? cta / static_cast<unsigned>(pair.cluster_size) : cta;
  const auto units = static_cast<unsigned>(shape.units);
  const int batch = static_cast<int>(unit / units);
  const int row0 = static_cast<int>(unit % units) * shape.rows;
  const int k0 = rank * shape.k_share;
  const bool is_there = batch < operand.batches * operand.split_k;
  const int k_slice = operand.split_k == 1 ? 0 : batch / operand.batches;
  const int rows = is_there ? min(shape.rows, operand.rows - row0) : 0;  // may be negative
  const int ks =
      min(shape.k_share, min(operand.k - k_slice * operand.k_per_slice, operand.slice_k()) - k0);  // so may this
  const float* from = product_base(operand.data, operand.layout, is_there ? batch - k_slice * operand.batches : 0) +
                      row0 * operand.layout.row_stride +
                      (std::int64_t{k_slice} * operand.k_per_slice + k0) * operand.layout.column_stride;

  if (threadIdx.x < whole_most_rows) most[threadIdx.x] = underflows[threadIdx.x] = 0;
  if (shape.shares_k) isa::cluster_sync();
  __syncthreads();

  // Into shared memory, with the maxima.
  if (shape.k_major) {
    if (shape.by_vectors) {
      load_k_major<4>(buffer, most, from, operand.layout, shape, operand.sample, rows, k0, ks, pair.cluster_size);
    } else {
      load_k_major<1>(buffer, most, from, operand.layout, shape, operand.sample, rows, k0, ks, pair.cluster_size);
    }
  } else {
    load_mn_major(buffer, most, from, operand.layout, shape, operand.sample, rows, k0, ks, pair.cluster_size);
  }
  if (shape.shares_k) isa::cluster_sync();
  __syncthreads();

  // Out of it.
  const int groups = shape.k_share / group;
  const int padded_k = blocks_of<Slices>(operand.slice_k()) * block_k;
  for (int item = threadIdx.x; item < shape.rows * groups; item += threads) {
    // Rows by turns of eight: four threads write the 32 elements of a block, eight such fours a warp.
    const int row = shape.k_major ? item / groups : item / 4 % 8 + item / (8 * groups) * 8;
    const int k = shape.k_major ? item % groups * group : (item % 4 + item % (8 * groups) / 32 * 4) * group;
    if (row >= rows || k0 + k >= padded_k) continue;
    alignas(16) float x[group];
    if (shape.k_major) {
      const auto* v = reinterpret_cast<const float4*>(buffer + row * shape.pitch + k);
      *reinterpret_cast<float4*>(x) = v[0];
      *reinterpret_cast<float4*>(x + 4) = v[1];
    } else {
#pragma unroll
      for (int i = 0; i < group; ++i) x[i] = buffer[(k + i) * shape.pitch + row];
    }
    const unsigned found = write_group<Slices>(operand, static_cast<std::int64_t>(batch) * operand.rows + row0 + row,
                                               k0 + k, x, power_of_two(scale_exponent<Slices>(most[row])));
    if (found != 0) atomicAdd(shape.shares_k ? isa::of_cta(&underflows[row], 0) : &underflows[row], found);
  }
  if (shape.shares_k) isa::cluster_sync();
  __syncthreads();
  if (is_there && rank == 0 && static_cast<int>(threadIdx.x) < shape.rows) {
    const std::int64_t mn = static_cast<std::int64_t>(batch) * operand.scales_pitch + row0 + threadIdx.x;
    operand.scales.max_bits[mn] = most[threadIdx.x];
    operand.scales.underflows[mn] = underflows[threadIdx.x];
  }
}

}  // namespace exactile::cuda::sm90::split
