// SPDX-License-Identifier: Apache-2.0
/// \file
/// From operands in f32, of any layout, to slices (slices.cuh): a pass for the maxima, a pass that splits. Afterwards
/// all operands look the same: K contiguous, padded with zeros to whole chunks.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/kernels/sm90/slices.cuh"
#include "exactile/plan.hpp"

namespace exactile::cuda::sm90 {

/// A, or B transposed: `rows` rows of k elements for each of `batches` products.
struct SplitOperand {
  const float* data;
  OperandLayout layout;  ///< row_stride from row to row, column_stride along k
  int rows;
  int k;
  int batches;
  void* slices;     ///< [batches][rows][blocks][slices][block_k]
  LineFacts facts;  ///< [batches][facts_pitch]
  int facts_pitch;  ///< rows, rounded up to whole tiles
};

struct SplitPair {
  SplitOperand a;
  SplitOperand b;
};

/// Enqueues the first pass: LineFacts::max_bits of both operands.
void enqueue_maxima(const SplitPair& operands, cudaStream_t stream);

/// Enqueues the second pass: slices, and LineFacts::tiny. It does nothing where `gate` is given and zero on the device.
template <class Slices>
void enqueue_split(const SplitPair& operands, const unsigned* gate, cudaStream_t stream);

/// CTAs of the second pass.
[[nodiscard]] std::int64_t split_ctas(const SplitPair& operands);

}  // namespace exactile::cuda::sm90
