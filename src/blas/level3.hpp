// SPDX-License-Identifier: Apache-2.0
/// \file Level 3 on the product: matrices by columns, parameters checked, sizes not 0.
///
/// Each routine cuts its matrices in halves until what is left is a block on the diagonal; all else is products of
/// matrices. Bounds on errors are those of the product, gamma_K |A||B|, but for solve_triangle().
#pragma once

#include "blas/product.hpp"

namespace exactile::blas {

enum class Side : std::uint8_t { left, right };
enum class Triangle : std::uint8_t { upper, lower };
enum class Diagonal : std::uint8_t { stored, ones };

[[nodiscard]] constexpr Triangle other(Triangle t) noexcept {
  return t == Triangle::upper ? Triangle::lower : Triangle::upper;
}
/// What a matrix is across its diagonal: the same, or the conjugate. Of real numbers both are one.
enum class Mirror : std::uint8_t { symmetric, hermitian };

/// The operation that makes op(A)'s mirrored of A.
template <Mirror mirror>
[[nodiscard]] constexpr Op other(Op op) noexcept {
  return is_transposed(op) ? Op::plain : mirror == Mirror::hermitian ? Op::conjugated : Op::transposed;
}

/// Half of n > block in whole blocks.
[[nodiscard]] constexpr Size half_of(Size n, Size block) noexcept { return (n / 2 + block - 1) / block * block; }

/// A matrix by columns, of a given leading dimension.
template <class T>
struct Columns {
  T* data;
  Size ld;
  [[nodiscard]] T* at(Size row, Size column) const noexcept { return data + row + column * ld; }
  /// Block of op(matrix) that begins at (row, column) of op(matrix).
  [[nodiscard]] T* at(Op op, Size row, Size column) const noexcept {
    return is_transposed(op) ? at(column, row) : at(row, column);
  }
};

/// The triangle of C <- beta C; the whole of it where `triangle` says nothing.
template <class T>
void scale_triangle(Triangle triangle, Size n, T beta, Columns<T> c);
template <class T>
void scale(Size m, Size n, T beta, Columns<T> c);

/// A Hermitian matrix has real numbers there; what BLAS's routines leave behind the real part is set to 0.
template <class T>
void make_diagonal_real(Size n, Columns<T> c);

/// A triangle of C <- alpha op(A) op(B) + beta C, op(A) n x k, op(B) k x n.
template <class T>
void multiply_triangle(Triangle triangle, Op op_a, Op op_b, Size n, Size k, T alpha, Columns<const T> a,
                       Columns<const T> b, T beta, Columns<T> c);

/// B <- alpha op(A) B or alpha B op(A), A triangular.
template <class T>
void multiply_by_triangle(Side side, Triangle triangle, Op op, Diagonal diagonal, Size m, Size n, T alpha,
                          Columns<const T> a, Columns<T> b);

/// B <- X with op(A) X = alpha B or X op(A) = alpha B.
template <class T>
void solve_triangle(Side side, Triangle triangle, Op op, Diagonal diagonal, Size m, Size n, T alpha, Columns<const T> a,
                    Columns<T> b);

/// C <- alpha A B + beta C or alpha B A + beta C, A symmetric or Hermitian, given by one triangle.
template <Mirror mirror, class T>
void multiply_symmetric(Side side, Triangle triangle, Size m, Size n, T alpha, Columns<const T> a, Columns<const T> b,
                        T beta, Columns<T> c);

}  // namespace exactile::blas
