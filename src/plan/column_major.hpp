// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exactile/plan.hpp"

namespace exactile::plan {

/// Whether C's rows are neighbours and its columns are not: kernels that write rows read C^T = B^T A^T then
/// (transposed.hpp). Where both strides are 1, C has one row or one column and is read as more of them would be: one
/// row is a column-major C's, one column a row-major C's. So where the way of reading touches the bits of a row, they
/// do not depend on how many rows there are. Nothing tells of which a C of one element is.
[[nodiscard]] inline bool is_column_major(const GemmDescription& d) {
  return d.c.row_stride == 1 && (d.c.column_stride != 1 || (d.m == 1 && d.n != 1));
}

}  // namespace exactile::plan
