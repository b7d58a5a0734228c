// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies of operands that TMA cannot address as they are: odd strides, pointer arrays, both strides above one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "exactile/plan.hpp"

namespace exactile::cuda::sm90::native {

/// `mn` rows of A, or columns of B, of k elements each, for each of `batches` products.
struct RelayoutSource {
  const void* data;
  OperandLayout layout;  ///< row_stride along M or N, column_stride along K
  std::int64_t mn;
  std::int64_t k;
  std::int64_t batches;
};

/// Elements from row to row of a copy: whole 128 bytes.
[[nodiscard]] constexpr std::int64_t relayout_pitch(std::int64_t columns, std::int64_t element_bytes) {
  const std::int64_t unit = 128 / element_bytes;
  return (columns + unit - 1) / unit * unit;
}

/// A copy to[batch][mn][k], or to[batch][k][mn] where `mn_major`, in rows of relayout_pitch elements.
struct Relayout {
  RelayoutSource from;
  bool mn_major;
  void* to;
};

/// Enqueues at most two copies, by one kernel where the rows of both are contiguous in their operands, which is the
/// cheapest. The type stays, but 8-bit floats may become f16, which holds all of them. Both together
/// have less than 2^31 times 16 bytes.
[[nodiscard]] cudaError_t enqueue_relayout(ElementType type, ElementType to_type, std::span<const Relayout> copies,
                                           cudaStream_t stream);

}  // namespace exactile::cuda::sm90::native
