// SPDX-License-Identifier: Apache-2.0
// One triangle of a product, and the scaling of C where there is no product.
#include <algorithm>
#include <cstring>

#include "blas/level3.hpp"
#include "blas/scratch.hpp"

namespace exactile::blas {
namespace {

/// A block on the diagonal is computed in strips of columns, of each what lies on the triangle's side and, beside the
/// diagonal, a little more. A block and its strips are whole tiles of the kernels.
constexpr Size strip = 24;
constexpr Size block = 6 * strip;
/// Terms that are summed at a time, so that the block's parts of A and B stay in L2.
template <class T>
constexpr Size terms = 1536 / Size{sizeof(T)};

/// Rows or columns [first, last) of a matrix.
struct Range {
  Size first;
  Size last;
};
/// The rows of column j that belong to the triangle.
[[nodiscard]] constexpr Range rows_of(Triangle triangle, Size n, Size j) noexcept {
  return triangle == Triangle::upper ? Range{0, j + 1} : Range{j, n};
}

/// Eight terms of two rows, of eight bytes each, become columns with both rows' terms beside one another.
template <class T>
inline void turn_pair(const T* row, const T* next_row, T* column) {
  using Pair = double __attribute__((vector_size(16)));
#pragma GCC unroll 4
  for (Size p = 0; p < 8; p += 2, column += 2 * block) {
    Pair x;
    Pair y;
    std::memcpy(&x, row + p, sizeof x);
    std::memcpy(&y, next_row + p, sizeof y);
    const Pair of_first = __builtin_shufflevector(x, y, 0, 2);
    const Pair of_second = __builtin_shufflevector(x, y, 1, 3);
    std::memcpy(static_cast<void*>(column), &of_first, sizeof x);
    std::memcpy(static_cast<void*>(column + block), &of_second, sizeof x);
  }
}

/// Rows of op(A), or columns of op(B), as a matrix with `block` rows whose columns are terms: strides that are powers
/// of two, in which lines displace one another, end here. Conjugation is left to the product.
template <class T>
void gather(bool by_columns, Size n, Size count, const T* from, Size ld, T* to) {
  if (by_columns) {
    for (Size p = 0; p < count; ++p) std::copy_n(from + p * ld, n, to + p * block);
    return;
  }
  constexpr Size together = 8;  // terms of a row: a line
  Size first = 0;
  for (; first + together <= count; first += together) {
    Size i = 0;
    if constexpr (sizeof(T) == 8)
      for (; i + 2 <= n; i += 2) turn_pair(from + first + i * ld, from + first + (i + 1) * ld, to + i + first * block);
    for (; i < n; ++i) {
      const T* row = from + first + i * ld;
      T* column = to + i + first * block;
#pragma GCC unroll 8
      for (Size p = 0; p < together; ++p) column[p * block] = row[p];
    }
  }
  for (; first < count; ++first)
    for (Size i = 0; i < n; ++i) to[i + first * block] = from[first + i * ld];
}

/// The triangle of C <- beta C + sums in columns [first, last); sums' first column and row are those of the strip.
template <class T>
void add_strip(Triangle triangle, Size n, Size first, Size last, Size top, const T* sums, T beta, Columns<T> c) {
  for (Size j = first; j < last; ++j) {
    const Range rows = rows_of(triangle, n, j);
    T* column = c.at(0, j);
    const T* computed = sums + (j - first) * block - top;
    if (beta == T(0))
      std::copy(computed + rows.first, computed + rows.last, column + rows.first);
    else
      for (Size i = rows.first; i < rows.last; ++i) column[i] = beta * column[i] + computed[i];
  }
}

template <class T>
void multiply_block(Triangle triangle, Op op_a, Op op_b, Size n, Size k, T alpha, Columns<const T> a,
                    Columns<const T> b, T beta, Columns<T> c) {
  const bool is_one_matrix = a.data == b.data && a.ld == b.ld && is_transposed(op_a) != is_transposed(op_b);
  T* const rows_of_a = scratch<T>(block * (2 * terms<T> + strip));
  T* const columns_of_b = is_one_matrix ? rows_of_a : rows_of_a + block * terms<T>;
  T* const sums = rows_of_a + 2 * block * terms<T>;
  for (Size first = 0; first < k; first += terms<T>) {
    const Size count = std::min(terms<T>, k - first);
    gather(!is_transposed(op_a), n, count, a.at(op_a, 0, first), a.ld, rows_of_a);
    if (!is_one_matrix) gather(is_transposed(op_b), n, count, b.at(op_b, first, 0), b.ld, columns_of_b);
    for (Size j = 0; j < n; j += strip) {
      const Size last = std::min(n, j + strip);
      const Size top = triangle == Triangle::lower ? j : 0;
      const Size rows = (triangle == Triangle::lower ? n : last) - top;
      multiply(is_conjugated(op_a) ? Op::conjugated_plain : Op::plain,
               is_conjugated(op_b) ? Op::conjugated : Op::transposed, rows, last - j, count, alpha, rows_of_a + top,
               block, columns_of_b + j, block, T(0), sums, block);
      add_strip(triangle, n, j, last, top, sums, first == 0 ? beta : T(1), c);
    }
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
    const Range rows = rows_of(triangle, n, j);
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

/// A tile of a matrix that is given by one triangle, by columns to `to`.
template <Mirror mirror, class T>
void copy_whole_tile(Triangle triangle, Range rows, Range columns, const Columns<const T>& a, T* to, Size ld) {
  const auto is_stored = [=](Size i, Size j) { return triangle == Triangle::upper ? i <= j : i >= j; };
  const bool one_corner = is_stored(rows.first, columns.last - 1);
  const bool other_corner = is_stored(rows.last - 1, columns.first);
  if (one_corner && other_corner) {
    for (Size j = columns.first; j < columns.last; ++j, to += ld)
      std::copy_n(a.at(rows.first, j), rows.last - rows.first, to);
    return;
  }
  const bool is_mirrored = !one_corner && !other_corner;
  for (Size i = rows.first; i < rows.last; ++i, ++to)
    for (Size j = columns.first; j < columns.last; ++j) {
      const bool across = is_mirrored || !is_stored(i, j);
      const T element = across ? *a.at(j, i) : *a.at(i, j);
      to[(j - columns.first) * ld] = across && mirror == Mirror::hermitian ? conjugate(element) : element;
    }
}

/// Columns of the whole matrix, in tiles whose mirrored elements stay in L1.
template <Mirror mirror, class T>
void copy_whole_columns(Triangle triangle, Size order, Range columns, const Columns<const T>& a, T* to) {
  constexpr Size side = 64 / Size{sizeof(Real<T>)};
  for (Size j = columns.first; j < columns.last; j += side)
    for (Size i = 0; i < order; i += side)
      copy_whole_tile<mirror>(triangle, {i, std::min(i + side, order)}, {j, std::min(j + side, columns.last)}, a,
                              to + i + (j - columns.first) * order, order);
  if (mirror == Mirror::hermitian)
    for (Size j = columns.first; j < columns.last; ++j) {
      T& diagonal = to[j + (j - columns.first) * order];
      diagonal = T(std::real(diagonal));
    }
}

template <Mirror mirror, class T>
void multiply_symmetric(Side side, Triangle triangle, Size m, Size n, T alpha, Columns<const T> a, Columns<const T> b,
                        T beta, Columns<T> c) {
  constexpr Size width = 512;  // columns of A that are made whole at a time, for each of which B is packed
  const Size order = side == Side::left ? m : n;
  T* panel = scratch<T>(order * std::min(width, order));
  for (Size first = 0; first < order; first += width) {
    const Size columns = std::min(width, order - first);
    copy_whole_columns<mirror>(triangle, order, {first, first + columns}, a, panel);
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
