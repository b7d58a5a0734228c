// SPDX-License-Identifier: Apache-2.0
// One triangle of a product, and the scaling of C where there is no product.
#include <algorithm>

#include "blas/level3.hpp"
#include "blas/scratch.hpp"

namespace exactile::blas {
namespace {

/// Blocks on the diagonal are computed whole: n * block operations too many, beside n^2 k that count. Products of this
/// size run near the peak already.
constexpr Size block = 32;

/// The rows of column j that belong to the triangle: [first, last).
struct Rows {
  Size first;
  Size last;
};
[[nodiscard]] constexpr Rows rows_of(Triangle triangle, Size n, Size j) noexcept {
  return triangle == Triangle::upper ? Rows{0, j + 1} : Rows{j, n};
}

template <class T>
void multiply_block(Triangle triangle, Op op_a, Op op_b, Size n, Size k, T alpha, Columns<const T> a,
                    Columns<const T> b, T beta, Columns<T> c) {
  T* whole = scratch<T>(block * block);
  multiply(op_a, op_b, n, n, k, alpha, a.data, a.ld, b.data, b.ld, T(0), whole, block);
  for (Size j = 0; j < n; ++j) {
    const Rows rows = rows_of(triangle, n, j);
    T* column = c.at(0, j);
    const T* computed = whole + j * block;
    if (beta == T(0))
      std::copy(computed + rows.first, computed + rows.last, column + rows.first);
    else
      for (Size i = rows.first; i < rows.last; ++i) column[i] = beta * column[i] + computed[i];
  }
}

}  // namespace

template <class T>
void scale(Size m, Size n, T beta, Columns<T> c) {
  if (beta == T(1)) return;
  for (Size j = 0; j < n; ++j) {
    T* column = c.at(0, j);
    if (beta == T(0))
      std::fill(column, column + m, T(0));
    else
      for (Size i = 0; i < m; ++i) column[i] *= beta;
  }
}

template <class T>
void scale_triangle(Triangle triangle, Size n, T beta, Columns<T> c) {
  for (Size j = 0; j < n; ++j) {
    const Rows rows = rows_of(triangle, n, j);
    scale(rows.last - rows.first, Size{1}, beta, Columns<T>{c.at(rows.first, j), c.ld});
  }
}

template <class T>
void make_diagonal_real(Size n, Columns<T> c) {
  if constexpr (is_complex_v<T>)
    for (Size j = 0; j < n; ++j) *c.at(j, j) = T(c.at(j, j)->real());
}

template <class T>
void multiply_triangle(Triangle triangle, Op op_a, Op op_b, Size n, Size k, T alpha, Columns<const T> a,
                       Columns<const T> b, T beta, Columns<T> c) {
  if (n <= block) return multiply_block(triangle, op_a, op_b, n, k, alpha, a, b, beta, c);
  const Size half = half_of(n, block);
  const Columns<const T> a_below{a.at(op_a, half, 0), a.ld};
  const Columns<const T> b_beside{b.at(op_b, 0, half), b.ld};
  const Size rest = n - half;
  multiply_triangle(triangle, op_a, op_b, half, k, alpha, a, b, beta, c);
  if (triangle == Triangle::lower)
    multiply(op_a, op_b, rest, half, k, alpha, a_below.data, a.ld, b.data, b.ld, beta, c.at(half, 0), c.ld);
  else
    multiply(op_a, op_b, half, rest, k, alpha, a.data, a.ld, b_beside.data, b.ld, beta, c.at(0, half), c.ld);
  multiply_triangle(triangle, op_a, op_b, rest, k, alpha, a_below, b_beside, beta, {c.at(half, half), c.ld});
}

/// A whole column of a matrix that is given by one triangle.
template <Mirror mirror, class T>
void copy_whole_column(Triangle triangle, Size order, Size j, const Columns<const T>& a, T* to) {
  const auto mirrored = [](T x) { return mirror == Mirror::hermitian ? conjugate(x) : x; };
  const Rows stored = rows_of(triangle, order, j);
  for (Size i = 0; i < stored.first; ++i) to[i] = mirrored(*a.at(j, i));
  std::copy(a.at(stored.first, j), a.at(stored.last - 1, j) + 1, to + stored.first);
  for (Size i = stored.last; i < order; ++i) to[i] = mirrored(*a.at(j, i));
  if constexpr (mirror == Mirror::hermitian) to[j] = T(std::real(to[j]));
}

template <Mirror mirror, class T>
void multiply_symmetric(Side side, Triangle triangle, Size m, Size n, T alpha, Columns<const T> a, Columns<const T> b,
                        T beta, Columns<T> c) {
  constexpr Size width = 256;  // columns of A that are made whole at a time
  const Size order = side == Side::left ? m : n;
  T* panel = scratch<T>(order * std::min(width, order));
  for (Size first = 0; first < order; first += width) {
    const Size columns = std::min(width, order - first);
    for (Size j = 0; j < columns; ++j) copy_whole_column<mirror>(triangle, order, first + j, a, panel + j * order);
    if (side == Side::left)  // columns of A are its rows, or their conjugates
      multiply(other<mirror>(Op::plain), Op::plain, columns, n, m, alpha, panel, order, b.data, b.ld, beta,
               c.at(first, 0), c.ld);
    else
      multiply(Op::plain, Op::plain, m, columns, n, alpha, b.data, b.ld, panel, order, beta, c.at(0, first), c.ld);
  }
}

#define EXACTILE_TRIANGLE(T)                                                                                 \
  template void scale<T>(Size, Size, T, Columns<T>);                                                         \
  template void scale_triangle<T>(Triangle, Size, T, Columns<T>);                                            \
  template void make_diagonal_real<T>(Size, Columns<T>);                                                     \
  template void multiply_triangle<T>(Triangle, Op, Op, Size, Size, T, Columns<const T>, Columns<const T>, T, \
                                     Columns<T>);                                                            \
  template void multiply_symmetric<Mirror::symmetric, T>(Side, Triangle, Size, Size, T, Columns<const T>,    \
                                                         Columns<const T>, T, Columns<T>)
#define EXACTILE_HERMITIAN(T)                                                                             \
  EXACTILE_TRIANGLE(T);                                                                                   \
  template void multiply_symmetric<Mirror::hermitian, T>(Side, Triangle, Size, Size, T, Columns<const T>, \
                                                         Columns<const T>, T, Columns<T>)
EXACTILE_TRIANGLE(float);
EXACTILE_TRIANGLE(double);
EXACTILE_HERMITIAN(std::complex<float>);
EXACTILE_HERMITIAN(std::complex<double>);
#undef EXACTILE_TRIANGLE
#undef EXACTILE_HERMITIAN

}  // namespace exactile::blas
