// SPDX-License-Identifier: Apache-2.0
/// \file Who is the matrix and who the vectors of a product with few rows or columns.
#pragma once

#include <cstdint>

#include "cpu/micro/vector_kernels.hpp"
#include "plan/problem.hpp"

namespace exactile::cpu {

/// The product as sums[vector][line] = sum over terms of x[vector][term] * w[line][term].
struct VectorRoles {
  bool w_is_a = false;
  bool across = false;  ///< lines are neighbours, not the terms of one
  std::int64_t vectors = 0;
  std::int64_t lines = 0;
  std::int64_t terms = 0;
  std::int64_t w_line_stride = 0;
  std::int64_t w_term_stride = 0;
  std::int64_t x_vector_stride = 0;
  std::int64_t x_term_stride = 0;
  std::int64_t c_line_stride = 0;
  std::int64_t c_vector_stride = 0;
};

/// Whether there is one sum, of neighbours.
[[nodiscard]] inline bool is_dot(const VectorRoles& r) {
  return r.lines == 1 && r.vectors == 1 && r.w_term_stride == 1 && r.x_term_stride == 1;
}

/// The operand with more rows or columns is W; of two small ones the one whose sums run along it. m or n is at most
/// most_vectors_at_once.
[[nodiscard]] VectorRoles vector_roles(const GemmDescription& description);

}  // namespace exactile::cpu
