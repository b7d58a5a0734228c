// SPDX-License-Identifier: Apache-2.0
/// \file
/// Split-K through memory, where C has too few tiles for all SMs: a second kernel adds the partial sums.
#pragma once

#include "cuda/kernels/sm90/element_scales.cuh"

namespace exactile::cuda::sm90 {

/// K slices that have scales of their own are at most as many.
inline constexpr int most_k_slices = 128;

/// Partial sums: [K slices][batches][rows of C][pitch]; the pitch is even and not below C's columns.
struct SplitKPartials {
  float* data;
  int split_k;
  std::int64_t pitch;
};

struct SplitKReduce {
  SplitPair operands;  ///< with A's rows down C, B's across; scales for each K slice where their split_k says so
  SplitKPartials partials;
  int batches;
  float underflow_scale;
  Output out;
};

/// Enqueues what adds the partial sums, always in the same order, and stores C. What the slices cannot hold is summed
/// from A and B.
[[nodiscard]] Status enqueue_splitk_reduce(const SplitKReduce& reduce, cudaStream_t stream);

/// Bytes that it reads and writes.
[[nodiscard]] double splitk_reduce_bytes(const GemmDescription& description, int split_k);

}  // namespace exactile::cuda::sm90
