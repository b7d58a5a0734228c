// SPDX-License-Identifier: Apache-2.0
/// \file
/// From operands in f32, of any layout, to slices (slices.cuh): a pass for the maxima, a pass that splits. Afterwards
/// all operands look the same: K contiguous, padded with zeros to whole chunks.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>

#include "cuda/kernel.hpp"
#include "cuda/kernels/sm90/slices.cuh"

namespace exactile::cuda::sm90 {

/// Elements of a row that count eight times in its scale, so that a kernel that reads the row once knows the scale
/// beforehand, unless an element beside the sample is larger than that. Which ones follows from k alone.
struct ScaleSample {
  unsigned mask = 0;    ///< of k: where it is zero
  unsigned weight = 0;  ///< added to the elements' bits; 0: there is no sample
  static constexpr int most_blocks = 8;

  ScaleSample() = default;
  explicit ScaleSample(int k) : weight(3u << 23) {
    const auto blocks = static_cast<unsigned>((k + block_k - 1) / block_k);
    mask = (std::bit_floor(std::max(2 * blocks / most_blocks, 1u)) - 1) * block_k;
  }
  [[nodiscard]] __host__ __device__ bool has(int k) const { return (static_cast<unsigned>(k) & mask) == 0; }
  /// Blocks of K from one that is in it to the next.
  [[nodiscard]] __host__ __device__ int step() const { return static_cast<int>(mask / block_k) + 1; }
  /// `bits`: of the absolute value of element k; 0 for what does not count.
  [[nodiscard]] __host__ __device__ unsigned weighed(unsigned bits, int k) const {
    return bits != 0 && has(k) ? bits + weight : bits;
  }
};

/// A, or B transposed: `rows` rows of k elements for each of `batches` products.
struct SplitOperand {
  const float* data;
  OperandLayout layout;  ///< row_stride from row to row, column_stride along k
  int rows;
  int k;
  int batches;
  void* slices;         ///< [K slices][batches][rows][blocks][slices][block_k]
  VectorScales scales;  ///< [K slices][batches][scales_pitch]
  int scales_pitch;     ///< rows, rounded up to whole tiles
  int split_k = 1;      ///< K slices, each with scales of its own
  int k_per_slice = 0;  ///< of every K slice but the last, if there are several
  ScaleSample sample{};

  [[nodiscard]] __host__ __device__ int slice_k() const { return split_k == 1 ? k : k_per_slice; }
};

inline constexpr int most_k_per_slice = 15360;

/// Flags for blocks of neighbouring rows of A and columns of B, of one product each: not zero where elements of C are
/// left to fix up that need them.
struct FixupBlocks {
  unsigned* a;
  unsigned* b;
};
inline constexpr int fixup_block_size = 256;  ///< scales_pitch is a multiple of that where there are such blocks

[[nodiscard]] __device__ inline std::int64_t fixup_block_of(const SplitOperand& operand, int batch, int mn) {
  return (static_cast<std::int64_t>(operand.batches == 1 ? 0 : batch) * operand.scales_pitch + mn) / fixup_block_size;
}

struct SplitPair {
  SplitOperand a;
  SplitOperand b;
};

/// Enqueues what fills slices and scales of both operands, and zeroes some words on the way. K slices, if there are
/// several, are at most `most_k_per_slice` deep. The kernel after it may begin as soon as there is room for it where
/// `next_begins_early`: worth it where there is little to split.
template <class Slices>
[[nodiscard]] Status enqueue_split(const SplitPair& operands, unsigned* zero, std::int64_t zero_words,
                                   cudaStream_t stream, bool next_begins_early = false);

}  // namespace exactile::cuda::sm90
