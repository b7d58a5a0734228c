// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products whose K is taken in parts, because C has too few tiles for all multiprocessors.
#pragma once

#include "cuda/kernels/sm90/gemm.cuh"

namespace exactile::cuda::sm90 {

/// Parts that have scales of their own are at most as many.
inline constexpr int most_parts = 128;

/// Sums of parts of K: [parts][batches][rows of C][pitch].
struct Partials {
  float* data;
  int parts;
  std::int64_t pitch;
};

/// Enqueues what adds the parts, always in the same order, where rows or columns have facts for each part of K
/// (SplitOperand::parts), and stores C. What the slices cannot hold is summed from A and B.
[[nodiscard]] Status enqueue_combine_lines(const GemmParameters& parameters, const Partials& partials,
                                           cudaStream_t stream);

/// Bytes that it reads and writes.
[[nodiscard]] double combined_bytes(const GemmDescription& description, int parts);

}  // namespace exactile::cuda::sm90
