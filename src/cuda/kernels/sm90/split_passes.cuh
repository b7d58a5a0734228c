// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operands split by two passes, one for the maxima and one for the slices: of any depth, and again for other slices.
#pragma once

#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/split_group.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90::split {

inline constexpr int max_tiles = 8;  // along k, by one CTA of the first pass
inline constexpr int per_thread = tile * tile / threads;

/// Which tile of which operand a CTA has.
struct Place {
  const SplitOperand& operand;
  int batch;
  int row;
  int k;
};

/// CTAs of one operand: those along k first, then rows, then batches.
[[nodiscard]] __host__ __device__ inline std::int64_t count(const SplitOperand& operand, int k_tile) {
  return (operand.k + k_tile - 1) / k_tile * ((operand.rows + tile - 1) / tile) * std::int64_t{operand.batches};
}

[[nodiscard]] __device__ inline Place place(const SplitPair& pair, int k_tile, std::int64_t index) {
  const std::int64_t in_a = count(pair.a, k_tile);
  const SplitOperand& operand = index < in_a ? pair.a : pair.b;
  if (index >= in_a) index -= in_a;
  const int k_tiles = (operand.k + k_tile - 1) / k_tile;
  const int row_tiles = (operand.rows + tile - 1) / tile;
  const std::int64_t row_index = index / k_tiles;
  return {operand, static_cast<int>(row_index / row_tiles), static_cast<int>(row_index % row_tiles) * tile,
          static_cast<int>(index % k_tiles) * k_tile};
}

/// Element i of a thread's share of a tile; neighbouring threads have neighbours in memory.
struct Share {
  bool k_major;
  __device__ explicit Share(const OperandLayout& layout)
      : k_major(llabs(layout.column_stride) <= llabs(layout.row_stride)) {}
  [[nodiscard]] __device__ int row(int i) const {
    return k_major ? threadIdx.x / tile + i * (threads / tile) : threadIdx.x % tile;
  }
  [[nodiscard]] __device__ int k(int i) const {
    return k_major ? threadIdx.x % tile : threadIdx.x / tile + i * (threads / tile);
  }
};

__device__ inline void load(float (&x)[per_thread], const Share& share, const Place& at, int k0) {
  const float* base = product_base(at.operand.data, at.operand.layout, at.batch);
#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
    const int row = at.row + share.row(i);
    const int k = k0 + share.k(i);
    x[i] = row < at.operand.rows && k < at.operand.k
               ? base[row * at.operand.layout.row_stride + k * at.operand.layout.column_stride]
               : 0.0f;
  }
}

/// First pass.
static __global__ void __launch_bounds__(threads) find_maxima(const __grid_constant__ SplitPair pair) {
  const Place at = place(pair, max_tiles * tile, blockIdx.x);
  const Share share(at.operand.layout);
  unsigned most[per_thread] = {};
  for (int t = 0; t < max_tiles && at.k + t * tile < at.operand.k; ++t) {
    float x[per_thread];
    load(x, share, at, at.k + t * tile);
#pragma unroll
    for (int i = 0; i < per_thread; ++i)
      most[i] = max(most[i], at.operand.sample.weighed(finite_bits(x[i]), at.k + t * tile + share.k(i)));
  }
  unsigned* max_bits =
      at.operand.scales.max_bits + static_cast<std::int64_t>(at.batch) * at.operand.scales_pitch + at.row;
  if (share.k_major) {
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      const unsigned of_warp = __reduce_max_sync(~0u, most[i]);
      if (threadIdx.x % 32 == 0) atomicMax(max_bits + share.row(i), of_warp);
    }
  } else {
#pragma unroll
    for (int i = 1; i < per_thread; ++i) most[0] = max(most[0], most[i]);
    atomicMax(max_bits + share.row(0), most[0]);
  }
}

using Transposed = float[tile][tile + 1];

/// One tile, by way of `transposed`.
template <class Slices>
__device__ inline void write_tile(const Place& at, Transposed& transposed) {
  const Share share(at.operand.layout);
  float x[per_thread];
  load(x, share, at, at.k);
#pragma unroll
  for (int i = 0; i < per_thread; ++i) transposed[share.k(i)][share.row(i)] = x[i];
  __syncthreads();

  const int padded_k = blocks_of<Slices>(at.operand.k) * block_k;
#pragma unroll
  for (int item = threadIdx.x; item < tile * tile / group; item += threads) {
    // Four threads write the 32 elements of a block, eight such fours a warp.
    const int k = item % 4 * group + item / 256 * block_k;
    const int row = item / 4 % 64;
    if (at.row + row >= at.operand.rows || at.k + k >= padded_k) continue;
    const std::int64_t mn = static_cast<std::int64_t>(at.batch) * at.operand.scales_pitch + at.row + row;
    float elements[group];
#pragma unroll
    for (int i = 0; i < group; ++i) elements[i] = transposed[k + i][row];
    const unsigned underflows =
        write_group<Slices>(at.operand, static_cast<std::int64_t>(at.batch) * at.operand.rows + at.row + row, at.k + k,
                            elements, power_of_two(scale_exponent<Slices>(at.operand.scales.max_bits[mn])));
    if (underflows != 0) atomicAdd(at.operand.scales.underflows + mn, underflows);
  }
}

/// Second pass.
template <class Slices>
__global__ void __launch_bounds__(threads) write_slices(const __grid_constant__ SplitPair pair) {
  isa::wait_for_kernel_before();
  __shared__ Transposed transposed;
  write_tile<Slices>(place(pair, tile, blockIdx.x), transposed);
}

/// Other slices of the flagged blocks, by CTAs that share the work: scales.max_bits are there, scales.underflows are
/// zero.
template <class Slices>
__device__ inline void write_fixup_slices(const SplitPair& pair, const FixupBlocks& blocks, Transposed& transposed) {
  const std::int64_t tiles = count(pair.a, tile) + count(pair.b, tile);
  for (std::int64_t index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Place at = place(pair, tile, index);
    const unsigned* of_operand = &at.operand == &pair.a ? blocks.a : blocks.b;
    if (of_operand[fixup_block_of(at.operand, at.batch, at.row)] == 0) continue;
    write_tile<Slices>(at, transposed);
    __syncthreads();
  }
}

}  // namespace exactile::cuda::sm90::split
