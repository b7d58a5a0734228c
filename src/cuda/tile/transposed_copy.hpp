// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies of an operand in pitched memory, transposed or not: rows of the copy are contiguous and begin at multiples of
/// the pitch. One kernel makes them from any strides, and from pointer arrays.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "exactile/plan.hpp"

namespace exactile::cuda {

/// The matrix's element (i, j) becomes element i of row j of the copy. Rows of the copy are filled up to the pitch with
/// zeros, and rows of zeros follow, so that tiles at the borders need not ask where the matrix ends.
/// A plain pitched copy of a matrix is the transposed copy of its transpose: plan::transposed().
struct TransposedCopy {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  OperandLayout from;
  ElementType type = ElementType::f32;
  std::int64_t pitch = 0;      ///< elements; at least `rows`
  std::int64_t copy_rows = 0;  ///< at least `columns`

  [[nodiscard]] bool is_shared() const { return !from.pointer_array && from.batch_stride == 0; }
  [[nodiscard]] std::int64_t product_bytes() const { return pitch * copy_rows * size_in_bytes(type); }
  /// Where the matrix's element (i, j) lies in the copies of several products.
  [[nodiscard]] OperandLayout layout() const {
    return {.row_stride = 1, .column_stride = pitch, .batch_stride = is_shared() ? 0 : pitch * copy_rows};
  }
  /// Enqueues the copies of `count` products, one behind the other (one copy if all share one matrix).
  [[nodiscard]] Status launch(const void* matrices, void* copies, std::int64_t count, cudaStream_t stream,
                              std::string_view kernel) const;
};

}  // namespace exactile::cuda
