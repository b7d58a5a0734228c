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

[[nodiscard]] inline bool has_aligned_rows(const GemmDescription& d, const GemmArguments& arguments) {
  return d.c.column_stride == 1 && has_aligned_strides(d, d.n, d.c.row_stride) && is_aligned(arguments.c);
}
[[nodiscard]] inline bool has_aligned_columns(const GemmDescription& d, const GemmArguments& arguments) {
  return d.c.row_stride == 1 && has_aligned_strides(d, d.m, d.c.column_stride) && is_aligned(arguments.c);
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
