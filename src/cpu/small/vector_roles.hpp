// SPDX-License-Identifier: Apache-2.0
/// \file Who is the matrix and who the vectors of a product with few rows or columns, and whose order its sums have.
#pragma once

#include <cstdint>
#include <string_view>

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

/// The operand with more rows or columns is W; of two small ones the one whose sums run along it. m or n is at most
/// most_vectors_at_once.
[[nodiscard]] VectorRoles vector_roles(const GemmDescription& description);

/// Whether the sums of this product are those of the vector kernels, see docs/adr/0006: sizes, strides and type decide,
/// never threads. Only where this machine has such kernels.
[[nodiscard]] bool sums_as_vectors(const GemmDescription& description);

/// Whether the vector kernels and the others leave the same bits of this product, so that costs may decide.
[[nodiscard]] bool sums_as_all_kernels(const GemmDescription& description);

/// Whether the sums of this product are those of AMX's tile registers, see docs/adr/0006: of bf16 that fills tiles, on
/// processors that have them.
[[nodiscard]] bool sums_in_tiles(const plan::Problem& problem);

/// For the other kernels' KernelEntry::gives_way.
[[nodiscard]] std::string_view gives_way_to_vectors(const plan::Problem& problem);

}  // namespace exactile::cpu
