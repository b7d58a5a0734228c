// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/split.hpp"

#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90 {
namespace {

constexpr int tile = 64;  // of rows and of k
constexpr int threads = 256;
constexpr int max_tiles = 8;  // along k, by one CTA of the first pass
constexpr int per_thread = tile * tile / threads;

/// Which tile of which operand a CTA has.
struct Place {
  const SplitOperand& operand;
  int batch;
  int row;
  int k;
};

/// CTAs of one operand: those along k first, then rows, then batches.
[[nodiscard]] __host__ __device__ std::int64_t count(const SplitOperand& operand, int k_tile) {
  return (operand.k + k_tile - 1) / k_tile * ((operand.rows + tile - 1) / tile) * std::int64_t{operand.batches};
}

[[nodiscard]] __device__ Place place(const SplitPair& pair, int k_tile) {
  std::int64_t index = blockIdx.x;
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
  bool along_k;
  __device__ explicit Share(const OperandLayout& layout)
      : along_k(llabs(layout.column_stride) <= llabs(layout.row_stride)) {}
  [[nodiscard]] __device__ int row(int i) const {
    return along_k ? threadIdx.x / tile + i * (threads / tile) : threadIdx.x % tile;
  }
  [[nodiscard]] __device__ int k(int i) const {
    return along_k ? threadIdx.x % tile : threadIdx.x / tile + i * (threads / tile);
  }
};

__device__ void load(float (&x)[per_thread], const Share& share, const Place& at, int k0) {
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

/// |x| as an integer that orders as |x| does; 0 for Inf and NaN.
[[nodiscard]] __device__ unsigned finite_bits(float x) {
  const unsigned bits = __float_as_uint(x) & 0x7fffffffu;
  return bits < 0x7f800000u ? bits : 0u;
}

/// First pass.
__global__ void __launch_bounds__(threads) find_maxima(const __grid_constant__ SplitPair pair) {
  const Place at = place(pair, max_tiles * tile);
  const Share share(at.operand.layout);
  unsigned most[per_thread] = {};
  for (int t = 0; t < max_tiles && at.k + t * tile < at.operand.k; ++t) {
    float x[per_thread];
    load(x, share, at, at.k + t * tile);
#pragma unroll
    for (int i = 0; i < per_thread; ++i) most[i] = max(most[i], finite_bits(x[i]));
  }
  unsigned* max_bits =
      at.operand.facts.max_bits + static_cast<std::int64_t>(at.batch) * at.operand.facts_pitch + at.row;
  if (share.along_k) {
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

/// Second pass.
template <class Slices>
__global__ void __launch_bounds__(threads) write_slices(const __grid_constant__ SplitPair pair, const unsigned* gate) {
  if (gate != nullptr && *gate == 0) return;
  __shared__ float transposed[tile][tile + 1];
  const Place at = place(pair, tile);
  const Share share(at.operand.layout);
  float x[per_thread];
  load(x, share, at, at.k);
#pragma unroll
  for (int i = 0; i < per_thread; ++i) transposed[share.k(i)][share.row(i)] = x[i];
  __syncthreads();

  constexpr int group = 8;  // elements of K that a thread writes: 16 bytes of each slice
  const int blocks = blocks_of<Slices>(at.operand.k);
  using Element = typename Slices::Element;
#pragma unroll
  for (int item = threadIdx.x; item < tile * tile / group; item += threads) {
    // Four threads write the 32 elements of a block, eight such fours a warp.
    const int k = item % 4 * group + item / 256 * block_k;
    const int row = item / 4 % 64;
    const int block = (at.k + k) / block_k;
    if (at.row + row >= at.operand.rows || block >= blocks) continue;
    const std::int64_t line = static_cast<std::int64_t>(at.batch) * at.operand.facts_pitch + at.row + row;
    const float scale = power_of_two(scale_exponent<Slices>(at.operand.facts.max_bits[line]));
    union {
      Element element[group];
      uint4 bits;
    } part[Slices::slices];
    unsigned tiny = 0;
#pragma unroll
    for (int i = 0; i < group; ++i) {
      const float value = transposed[k + i][row];
      Element s[Slices::slices];
      tiny += Slices::split(value, value * scale, at.operand.k, s);
#pragma unroll
      for (int slice = 0; slice < Slices::slices; ++slice) part[slice].element[i] = s[slice];
    }
    if (tiny != 0) atomicAdd(at.operand.facts.tiny + line, tiny);
    const std::int64_t row_in_all = static_cast<std::int64_t>(at.batch) * at.operand.rows + at.row + row;
    auto* to = static_cast<uint4*>(at.operand.slices) + (row_in_all * blocks + block) * (block_bytes<Slices> / 16);
#pragma unroll
    for (int slice = 0; slice < Slices::slices; ++slice)
      to[slice * (block_k / group) + k % block_k / group] = part[slice].bits;
  }
}

}  // namespace

void enqueue_maxima(const SplitPair& operands, cudaStream_t stream) {
  constexpr int k_tile = max_tiles * tile;
  const std::int64_t ctas = count(operands.a, k_tile) + count(operands.b, k_tile);
  find_maxima<<<static_cast<unsigned>(ctas), threads, 0, stream>>>(operands);
}

template <class Slices>
void enqueue_split(const SplitPair& operands, const unsigned* gate, cudaStream_t stream) {
  write_slices<Slices><<<static_cast<unsigned>(split_ctas(operands)), threads, 0, stream>>>(operands, gate);
}
template void enqueue_split<Fp16x3>(const SplitPair&, const unsigned*, cudaStream_t);
template void enqueue_split<Bf16x6>(const SplitPair&, const unsigned*, cudaStream_t);

std::int64_t split_ctas(const SplitPair& operands) { return count(operands.a, tile) + count(operands.b, tile); }

}  // namespace exactile::cuda::sm90
