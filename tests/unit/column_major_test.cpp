// SPDX-License-Identifier: Apache-2.0
#include "plan/column_major.hpp"

#include <gtest/gtest.h>

namespace exactile::plan {
namespace {

GemmDescription product(std::int64_t m, std::int64_t n, std::int64_t row_stride, std::int64_t column_stride) {
  GemmDescription d;
  d.m = m;
  d.n = n;
  d.k = 3;
  d.c = {.row_stride = row_stride, .column_stride = column_stride};
  return d;
}

/// The way of reading is the same for every number of rows and columns of one layout.
TEST(ColumnMajor, DoesNotDependOnTheNumberOfRowsOrColumns) {
  for (std::int64_t m = 1; m <= 4; ++m)
    for (std::int64_t n = 1; n <= 4; ++n) {
      EXPECT_FALSE(is_column_major(product(m, n, n, 1))) << m << " x " << n << ", rows behind each other";
      EXPECT_FALSE(is_column_major(product(m, n, 8, 1))) << m << " x " << n << ", rows of 8";
      EXPECT_TRUE(is_column_major(product(m, n, 1, 8))) << m << " x " << n << ", columns of 8";
      EXPECT_FALSE(is_column_major(product(m, n, 2, 8))) << m << " x " << n << ", rows 2 apart";
      if (m == 1 && n == 1) continue;  // its strides are those of a row-major C too
      EXPECT_TRUE(is_column_major(product(m, n, 1, m))) << m << " x " << n << ", columns behind each other";
    }
}

}  // namespace
}  // namespace exactile::plan
