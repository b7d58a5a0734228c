// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/transposed.hpp"

namespace exactile::cpu {

/// The product as the loops see it: C^T = B^T A^T where that makes C's columns neighbours. Nothing is moved; the
/// transposed reading exchanges sizes, strides and operands.
struct Orientation {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  OperandLayout a;
  OperandLayout b;
  OperandLayout c;
  bool exchanged = false;  ///< A here is the caller's B and the reverse
};

/// `transposed_reading` decides; see preferred_orientation().
[[nodiscard]] inline Orientation orient(const GemmDescription& d, bool transposed_reading) {
  if (!transposed_reading) return {d.m, d.n, d.k, d.a, d.b, d.c, false};
  const GemmDescription turned = plan::transposed(d);
  return {turned.m, turned.n, turned.k, turned.a, turned.b, turned.c, true};
}

/// C's columns must be neighbours; where one row or one column leaves the choice, B's should be, and one column is
/// better read as a row: elements that lie side by side, each stored and loaded by itself, wait for one another.
[[nodiscard]] inline Orientation preferred_orientation(const GemmDescription& d) {
  const bool as_it_is = d.c.column_stride == 1 || d.n == 1;
  const bool turned = d.c.row_stride == 1 || d.m == 1;
  if (as_it_is && turned) return orient(d, (d.n == 1 ? d.m != 1 : d.b.column_stride != 1) && d.a.row_stride == 1);
  return orient(d, !as_it_is && turned);
}

/// Whether the micro-kernels can write C where it lies.
[[nodiscard]] inline bool c_is_row_contiguous(const Orientation& o) { return o.c.column_stride == 1 || o.n == 1; }

}  // namespace exactile::cpu
