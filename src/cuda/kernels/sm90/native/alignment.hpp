// SPDX-License-Identifier: Apache-2.0
/// \file
/// What addresses and strides allow: which operands lie at multiples of 16 bytes, and how C is stored.
#pragma once

#include <cstdint>

#include "cuda/kernels/sm90/native/output.cuh"
#include "cuda/kernels/sm90/native/plan.hpp"

namespace exactile::cuda::sm90::native {

[[nodiscard]] inline bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

/// Whether the contiguous rows or columns of C, that long and so far apart, begin and end at multiples of 16 bytes: TMA
/// cuts a box off there.
[[nodiscard]] inline bool has_aligned_vectors(const GemmDescription& d, std::int64_t length, std::int64_t pitch,
                                              const GemmArguments& arguments) {
  const std::int64_t size = size_in_bytes(d.types.output);
  constexpr std::int64_t most_pitch = std::int64_t{1} << 36;  // TMA takes less than 2^40 bytes
  return !d.c.pointer_array && length * size % 16 == 0 && pitch * size % 16 == 0 && pitch > 0 && pitch < most_pitch &&
         d.c.batch_stride * size % 16 == 0 && is_aligned(arguments.c);
}
[[nodiscard]] inline bool has_aligned_rows(const GemmDescription& d, const GemmArguments& arguments) {
  return d.c.column_stride == 1 && has_aligned_vectors(d, d.n, d.c.row_stride, arguments);
}
[[nodiscard]] inline bool has_aligned_columns(const GemmDescription& d, const GemmArguments& arguments) {
  return d.c.row_stride == 1 && has_aligned_vectors(d, d.m, d.c.column_stride, arguments);
}

[[nodiscard]] inline StoreBy store_by(const LaunchConfig& layout, const GemmArguments& arguments) {
  const GemmDescription& d = layout.d;
  if (!arguments.beta.is_zero() || d.bias != Bias::none || d.activation != Activation::none) return StoreBy::elements;
  if (has_aligned_columns(d, arguments) && d.c.column_stride != 1) return StoreBy::columns;
  if (d.c.column_stride != 1) return StoreBy::elements;
  return has_aligned_rows(d, arguments) && stores_boxes(layout.stored_columns(), size_in_bytes(d.types.output))
             ? StoreBy::boxes
             : StoreBy::rows;
}

}  // namespace exactile::cuda::sm90::native
