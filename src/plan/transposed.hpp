// SPDX-License-Identifier: Apache-2.0
/// \file
/// The same product read the other way round: C^T = B^T A^T. Nothing is moved.
#pragma once

#include <utility>

#include "exactile/plan.hpp"

namespace exactile::plan {

/// The same elements as a matrix with rows and columns exchanged.
[[nodiscard]] inline OperandLayout transposed(OperandLayout layout) {
  std::swap(layout.row_stride, layout.column_stride);
  return layout;
}

/// The description of C^T = B^T A^T. The pointers must change places too.
[[nodiscard]] inline GemmDescription transposed(const GemmDescription& description) {
  GemmDescription d = description;
  std::swap(d.m, d.n);
  std::swap(d.types.input, d.types.input_b);
  d.a = transposed(description.b);
  d.b = transposed(description.a);
  d.c = transposed(description.c);
  if (d.bias != Bias::none) d.bias = d.bias == Bias::per_row ? Bias::per_column : Bias::per_row;
  std::swap(d.row_scales, d.column_scales);
  return d;
}

/// The pointers that go with it.
[[nodiscard]] inline GemmArguments transposed(const GemmArguments& arguments) {
  GemmArguments turned = arguments;
  std::swap(turned.a, turned.b);
  std::swap(turned.prepared_a, turned.prepared_b);
  std::swap(turned.row_scales, turned.column_scales);
  return turned;
}

/// How many matrices an operand of a batch really is: one if all products share it.
[[nodiscard]] inline std::int64_t distinct_matrices(const OperandLayout& layout, std::int64_t batch_count) {
  return layout.pointer_array || layout.batch_stride != 0 ? batch_count : 1;
}

}  // namespace exactile::plan
