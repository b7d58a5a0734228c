// SPDX-License-Identifier: Apache-2.0
/// \file What the entry points of level 3 share: letters and numbers of sides, triangles and diagonals, and CBLAS's
/// order turned into Fortran's.
#pragma once

#include "blas/arguments.hpp"
#include "blas/choice.hpp"
#include "blas/export.hpp"
#include "blas/level3.hpp"
#include "blas/settings.hpp"

namespace exactile::blas {

/// One of two values that a letter or one of CBLAS's numbers names.
template <class Value, int first, int second, Value one, Value two>
[[nodiscard]] constexpr std::optional<Value> named(int what) noexcept {
  if (what == first) return one;
  if (what == second) return two;
  return std::nullopt;
}

constexpr auto side_of = [](char c) { return named<Side, 'L', 'R', Side::left, Side::right>(c); };
constexpr auto triangle_of = [](char c) { return named<Triangle, 'U', 'L', Triangle::upper, Triangle::lower>(c); };
constexpr auto diagonal_of = [](char c) { return named<Diagonal, 'N', 'U', Diagonal::stored, Diagonal::ones>(c); };
constexpr auto c_side_of = [](int n) { return named<Side, left, right, Side::left, Side::right>(n); };
constexpr auto c_triangle_of = [](int n) { return named<Triangle, upper, lower, Triangle::upper, Triangle::lower>(n); };
constexpr auto c_diagonal_of = [](int n) {
  return named<Diagonal, non_unit, unit, Diagonal::stored, Diagonal::ones>(n);
};

[[nodiscard]] constexpr char letter(Side side) noexcept { return side == Side::left ? 'L' : 'R'; }
[[nodiscard]] constexpr char letter(Triangle triangle) noexcept { return triangle == Triangle::upper ? 'U' : 'L'; }
[[nodiscard]] constexpr char letter(Diagonal diagonal) noexcept { return diagonal == Diagonal::ones ? 'U' : 'N'; }

// The same matrices read by columns: what lay by rows is transposed.
[[nodiscard]] constexpr Side exchanged(Side side) noexcept { return side == Side::left ? Side::right : Side::left; }

}  // namespace exactile::blas
