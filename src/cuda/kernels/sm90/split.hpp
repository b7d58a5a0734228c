// SPDX-License-Identifier: Apache-2.0
/// \file
/// From operands in f32, of any layout, to slices (slices.cuh): a pass for the maxima, a pass that splits. Afterwards
/// all operands look the same: K contiguous, padded with zeros to whole chunks.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/kernel.hpp"
#include "cuda/kernels/sm90/slices.cuh"

namespace exactile::cuda::sm90 {

/// A, or B transposed: `rows` rows of k elements for each of `batches` products.
struct SplitOperand {
  const float* data;
  OperandLayout layout;  ///< row_stride from row to row, column_stride along k
  int rows;
  int k;
  int batches;
  void* slices;     ///< [parts][batches][rows][blocks][slices][block_k]
  LineFacts facts;  ///< [parts][batches][facts_pitch]
  int facts_pitch;  ///< rows, rounded up to whole tiles
  int parts = 1;    ///< of K, each with scales of its own
  int part_k = 0;   ///< of every part but the last, if there are several

  [[nodiscard]] __host__ __device__ int depth() const { return parts == 1 ? k : part_k; }
};

inline constexpr int most_part_k = 15360;

/// Lots of neighbouring lines of A and B, of one product each; not zero where elements of C are left that need them.
struct LotsLeft {
  unsigned* a;
  unsigned* b;
};
inline constexpr int lot_lines = 256;  ///< facts_pitch is a multiple of that where there are lots

[[nodiscard]] __device__ inline std::int64_t lot_of(const SplitOperand& operand, int batch, int line) {
  return (static_cast<std::int64_t>(operand.batches == 1 ? 0 : batch) * operand.facts_pitch + line) / lot_lines;
}

struct SplitPair {
  SplitOperand a;
  SplitOperand b;
};

/// Enqueues what fills slices and facts of both operands, and zeroes some words on the way. Parts, if there are
/// several, are at most `most_part_k` deep. The kernel after it may begin as soon as there is room for it where
/// `next_begins_early`: worth it where there is little to split.
template <class Slices>
[[nodiscard]] Status enqueue_split(const SplitPair& operands, unsigned* zero, std::int64_t zero_words,
                                   cudaStream_t stream, bool next_begins_early = false);

}  // namespace exactile::cuda::sm90
