// SPDX-License-Identifier: Apache-2.0
/// \file
/// A warp's 16 columns of the operand that is not split ahead, W: read a chunk of K ahead, split in registers by scales
/// that a sample of K gives (ScaleSample), held as mma.sync takes them.
#pragma once

#include "cuda/isa/mma_m16n8.cuh"
#include "cuda/kernels/sm90/split_group.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90::ordered {

inline constexpr int chunk_terms = block_k * Fp16x3::chunk_stages;
inline constexpr int step_k = 16;
inline constexpr int steps = chunk_terms / step_k;
inline constexpr int warp_columns = 16;
inline constexpr int lane_columns = 2;

/// How W's columns lie in memory.
enum class Reading {
  across,     ///< two neighbouring ones are 8 bytes
  along,      ///< two neighbouring terms of one are 8 bytes
  scattered,  ///< an element at a time
};

/// Of the mma's lane: which of a step's terms its element i of four is.
[[nodiscard]] __device__ inline constexpr int term_offset(int i) { return i % 2 + i / 2 * 8; }
[[nodiscard]] __device__ inline int term_of(int i) { return static_cast<int>(threadIdx.x) % 4 * 2 + term_offset(i); }

/// A lane's elements of a step: [column][i].
using Elements = float[lane_columns][4];

/// Reads a lane's columns of W, behind the last one the last one again, step by step.
template <Reading reading>
class WideReader {
 public:
  __device__ WideReader(const SplitOperand& wide, int batch, int first_column, int first_chunk) : wide_(&wide) {
    const float* const base = product_base(wide.data, wide.layout, batch);
#pragma unroll
    for (int v = 0; v < lane_columns; ++v) {
      // Pairs stay pairs.
      const int column = reading == Reading::across ? min(first_column, wide.rows - lane_columns) + v
                                                    : min(first_column + v, wide.rows - 1);
      at_[v] = base + column * wide.layout.row_stride + (first_chunk * chunk_terms + term_of(0)) * along();
    }
  }
  /// From the end of a chunk to the beginning of another, so many further on.
  __device__ void skip(int chunks) {
#pragma unroll
    for (int v = 0; v < pointers; ++v) at_[v] += chunks * chunk_terms * along();
  }
  /// Of a chunk that is whole.
  __device__ void load(Elements& x) {
    if constexpr (reading == Reading::along) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const auto pair = __ldg(reinterpret_cast<const float2*>(at_[i / 2] + term_offset(i % 2 * 2)));
        x[i / 2][i % 2 * 2] = pair.x;
        x[i / 2][i % 2 * 2 + 1] = pair.y;
      }
#pragma unroll
      for (int v = 0; v < pointers; ++v) at_[v] += step_k;
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (reading == Reading::across) {
          const auto pair = __ldg(reinterpret_cast<const float2*>(at_[0]));
          x[0][i] = pair.x;
          x[1][i] = pair.y;
        } else {
          x[0][i] = __ldg(at_[0]);
          x[1][i] = __ldg(at_[1]);
        }
        // Pinned, or the compiler keeps a register for the way to each term.
#pragma unroll
        for (int v = 0; v < pointers; ++v) {
          at_[v] += (i % 2 == 0 ? 1 : 7) * along();
          asm volatile("" : "+l"(at_[v]));
        }
      }
    }
  }
  /// Of a chunk that has so many terms: zeros behind them.
  __device__ void load_partial(Elements (&x)[steps], int terms) const {
#pragma unroll
    for (int s = 0; s < steps; ++s)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int offset = s * step_k + term_offset(i);
#pragma unroll
        for (int v = 0; v < lane_columns; ++v) {
          const float* const from = reading == Reading::across ? at_[0] + v : at_[v];
          x[s][v][i] = term_of(0) + offset < terms ? __ldg(from + offset * along()) : 0.0f;
        }
      }
  }

 private:
  static constexpr int pointers = reading == Reading::across ? 1 : lane_columns;

  [[nodiscard]] __device__ std::int64_t along() const {
    return reading == Reading::along ? 1 : wide_->layout.column_stride;
  }

  const SplitOperand* wide_;
  const float* at_[lane_columns];
};

/// A chunk's slices: [slice][step][column][pair].
using WideSlices = std::uint32_t[Fp16x3::slices][steps][lane_columns][2];

/// By what a lane's columns are split.
struct LaneScales {
  float scale[lane_columns];
  bool are_known;  ///< none is that of a sample of zeros

  __device__ LaneScales(const unsigned* max_bits) : are_known(max_bits[0] != 0 && max_bits[1] != 0) {
#pragma unroll
    for (int v = 0; v < lane_columns; ++v) scale[v] = power_of_two(scale_exponent<Fp16x3>(max_bits[v]));
  }
};

/// Where a lane says what it has found in its columns, as VectorScales has it.
struct Found {
  unsigned* most;  ///< of what was looked at
  unsigned* underflows;
};

[[nodiscard]] __device__ inline std::uint32_t bits_of(__half2 pair) {
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

/// Of one column: elements of which some are not ordinary. to[slice][step][column][pair]
__device__ inline void split_carefully(WideSlices& to, const Elements& x, int s, int v, int k, const LaneScales& scales,
                                       const Found& found) {
  unsigned least_but_one = ~0u;  // of what is not zero
  unsigned most = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned bits = split::absolute_bits(x[v][i]);
    most = max(most, bits);
    least_but_one = min(least_but_one, bits - 1);
  }
  if (most < split::infinite_bits &&
      (most == 0 || __uint_as_float(least_but_one + 1) * scales.scale[v] >= Fp16x3::least_ordinary)) {
    if (most != 0) atomicMax(found.most + v, most);
    return;  // split_step() has split them
  }
  unsigned underflows = 0;
  most = 0;
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    __half slices[2][Fp16x3::slices];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float element = x[v][2 * pair + i];
      most = max(most, split::finite_bits(element));
      underflows += Fp16x3::split(element, element * scales.scale[v], k, slices[i]);
    }
#pragma unroll
    for (int slice = 0; slice < Fp16x3::slices; ++slice)
      to[slice][s][v][pair] = bits_of(__halves2half2(slices[0][slice], slices[1][slice]));
  }
  if (most != 0) atomicMax(found.most + v, most);
  if (underflows != 0) atomicAdd(found.underflows + v, underflows);
}

/// Elements whose first slices are above 1/4 and below 2^15 are ordinary, and not larger than their sample says.
__device__ inline void split_step(WideSlices& to, const Elements& x, int s, int k, const LaneScales& scales,
                                  const Found& found) {
  __half2 most = __float2half2_rn(0);
  __half2 least = __float2half2_rn(0x1p15f);
#pragma unroll
  for (int v = 0; v < lane_columns; ++v)
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      __half2 slices[Fp16x3::slices];
      Fp16x3::split_ordinary(x[v][2 * pair] * scales.scale[v], x[v][2 * pair + 1] * scales.scale[v], slices);
#pragma unroll
      for (int slice = 0; slice < Fp16x3::slices; ++slice) to[slice][s][v][pair] = bits_of(slices[slice]);
      most = __hmax2_nan(most, __habs2(slices[0]));
      least = __hmin2_nan(least, __habs2(slices[0]));
    }
  if (scales.are_known && __hblt2(most, __float2half2_rn(0x1p15f)) &&
      __hbgt2(least, __float2half2_rn(Fp16x3::least_ordinary))) [[likely]]
    return;
#pragma unroll
  for (int v = 0; v < lane_columns; ++v) split_carefully(to, x, s, v, k, scales, found);
}

}  // namespace exactile::cuda::sm90::ordered
