// SPDX-License-Identifier: Apache-2.0
/// \file
/// A warp's chunks of the operand that is not split ahead, W: on their way to shared memory a chunk ahead, split in
/// registers by scales that a sample of K gives (ScaleSample), held as mma.sync takes them.
#pragma once

#include "cuda/isa/mma_m16n8.cuh"
#include "cuda/kernels/sm90/split_group.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90::ordered {

inline constexpr int chunk_terms = block_k * Fp16x3::chunk_stages;
inline constexpr int step_k = 16;
inline constexpr int steps = chunk_terms / step_k;
inline constexpr int tile_columns = 32;  ///< of W
inline constexpr int mma_columns = 16;   ///< that an mma takes
inline constexpr int lane_columns = 2;

/// How W's columns lie in memory, and in shared memory.
enum class Reading {
  across,     ///< by TMA, neighbouring columns beside each other
  along,      ///< by TMA, neighbouring terms of a column
  scattered,  ///< an element at a time; in shared memory as `across`
};

/// A chunk in shared memory: rows of 128 bytes, swizzled as TMA does. Across, a row is a term of 32 columns; along, it
/// is 32 terms of a column, and the second half of the terms lies behind the first.
inline constexpr int row_bytes = 128;
inline constexpr int wide_block_bytes = block_k * row_bytes;
inline constexpr int wide_bytes = Fp16x3::chunk_stages * wide_block_bytes;

[[nodiscard]] __device__ inline int swizzled_offset(int row, int element) {
  return row * row_bytes + (element / 4 ^ row % 8) * 16 + element % 4 * 4;
}

/// A lane's elements of a step: [column][i]; the mma takes terms 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of lanes 4 g + t.
using Elements = float[lane_columns][4];

/// Where a lane reads a chunk's elements.
class WideReader {
 public:
  __device__ explicit WideReader(bool along) : along(along) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int term = lane % 4 * 2;
    const int column = lane / 4 * lane_columns;
    first_ = along ? swizzled_offset(column, term) : swizzled_offset(term, column);
  }
  /// Of 16 columns, the first or the second ones.
  template <bool along>
  __device__ void read(Elements& x, const std::byte* chunk, int half, int step) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (along) {
        const int v = i / 2;
        const int pair = i % 2;
        const float2 terms = at(chunk, ((step % 2 * 4 + pair * 2) ^ v) * 16,
                                step / 2 * wide_block_bytes + (half * mma_columns + v) * row_bytes);
        x[v][2 * pair] = terms.x;
        x[v][2 * pair + 1] = terms.y;
      } else {
        const float2 columns = at(chunk, (half * 4 ^ i % 2) * 16, (step * step_k + i / 2 * 8 + i % 2) * row_bytes);
        x[0][i] = columns.x;
        x[1][i] = columns.y;
      }
    }
  }

  const bool along;

 private:
  [[nodiscard]] __device__ float2 at(const std::byte* chunk, int swizzle, int offset) const {
    return *reinterpret_cast<const float2*>(chunk + (first_ ^ swizzle) + offset);
  }

  int first_;
};

/// A chunk's slices of 16 columns: [slice][step][column][pair].
using WideSlices = std::uint32_t[Fp16x3::slices][steps][lane_columns][2];

/// By what a lane's columns are split.
struct LaneScales {
  float scale[lane_columns];
  bool are_known;  ///< none is that of a sample of zeros

  __device__ explicit LaneScales(const unsigned* max_bits) : are_known(max_bits[0] != 0 && max_bits[1] != 0) {
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

/// A step's slices: [slice][column][pair].
using StepSlices = std::uint32_t[Fp16x3::slices][lane_columns][2];

/// Of one column: elements of which some may not be ordinary. False: split_step() has split them.
[[nodiscard]] __device__ inline bool split_carefully(StepSlices& to, const Elements& x, int v, int k,
                                                     const LaneScales& scales, const Found& found) {
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
    return false;
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
      to[slice][v][pair] = bits_of(__halves2half2(slices[0][slice], slices[1][slice]));
  }
  if (most != 0) atomicMax(found.most + v, most);
  if (underflows != 0) atomicAdd(found.underflows + v, underflows);
  return true;
}

/// Whether all elements were ordinary: first slices above 1/4 and below 2^15, so not larger than their sample says.
[[nodiscard]] __device__ inline bool split_step(WideSlices& to, const Elements& x, int s, const LaneScales& scales) {
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
  return scales.are_known && __hblt2(most, __float2half2_rn(0x1p15f)) &&
         __hbgt2(least, __float2half2_rn(Fp16x3::least_ordinary));
}

/// A chunk's slices of a warp's 32 columns.
inline constexpr int halves = tile_columns / mma_columns;
using TileSlices = WideSlices[halves];

/// The steps of which some elements are not ordinary; bit half * steps + step.
template <bool along>
[[nodiscard]] __device__ inline unsigned split_ordinary_chunk(TileSlices& to, const std::byte* chunk,
                                                              const WideReader& reader,
                                                              const LaneScales (&scales)[halves]) {
  unsigned others = 0;
#pragma unroll
  for (int half = 0; half < halves; ++half)
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      Elements x;
      reader.read<along>(x, chunk, half, s);
      if (!split_step(to[half], x, s, scales[half])) others |= 1u << (half * steps + s);
    }
  return others;
}

}  // namespace exactile::cuda::sm90::ordered
