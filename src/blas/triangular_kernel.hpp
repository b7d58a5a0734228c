// SPDX-License-Identifier: Apache-2.0
/// \file A small triangle, or its inverse, applied to vectors of B that lie side by side in a vector register's lanes.
#pragma once

#include "blas/product.hpp"

namespace exactile::blas {

enum class Task : std::uint8_t { multiply, solve };

/// Orders that the kernels take: they keep the triangle and their part of B in L1.
constexpr Size block_order = 32;
/// Rows are computed four at a time; the triangle and the vectors have zeros, and ones on the diagonal, up to there.
constexpr Size row_group = 4;

/// A lower triangle by rows, of leading dimension block_order. Where the task is to solve, its diagonal holds
/// reciprocals, and what lies beside it is negated.
template <class T>
struct TriangleProblem {
  Task task;
  bool by_columns;  ///< a vector is a column of B; else a row
  bool backwards;   ///< the vectors' last elements are the triangle's first
  Size order;
  T alpha;
  const T* triangle;
};

/// What one instruction set offers: `width` vectors at a time.
template <class T>
struct TriangleKernel {
  Size width;
  /// The vectors that begin at b, `count` <= width of them, in place. False where the result holds an infinity or NaN:
  /// B is then unchanged. An error of substitution or of a product: gamma_s |T| |X| of a solution's residual, s the
  /// order, where a reciprocal's rounding counts for one more.
  bool (*run)(const TriangleProblem<T>& problem, T* b, Size ld, Size count);
};

/// The widest that this processor has.
template <class T>
[[nodiscard]] TriangleKernel<T> triangle_kernel();

// One file an instruction set, which triangle_kernel() chooses from.
namespace portable {
template <class T>
[[nodiscard]] TriangleKernel<T> triangle_kernel();
}
namespace avx2 {
template <class T>
[[nodiscard]] TriangleKernel<T> triangle_kernel();
}
namespace avx512 {
template <class T>
[[nodiscard]] TriangleKernel<T> triangle_kernel();
}

}  // namespace exactile::blas
