// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exactile/plan.hpp"

namespace exactile::plan {

/// Whether C is column-major: kernels that write rows then compute C^T = B^T A^T (transposed.hpp). A C with both
/// strides 1 is a vector and ambiguous: 1 x n counts as column-major, m x 1 and 1 x 1 as row-major. Larger matrices
/// of the same layout are treated alike, so the bits of a row or column do not depend on how many there are beside
/// it, even where the order of summation differs between C and C^T.
[[nodiscard]] inline bool is_column_major(const GemmDescription& d) {
  return d.c.row_stride == 1 && (d.c.column_stride != 1 || (d.m == 1 && d.n != 1));
}

}  // namespace exactile::plan
