// SPDX-License-Identifier: Apache-2.0
#include "blas/triangular_block.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "blas/settings.hpp"
#include "blas/triangular_kernel.hpp"

namespace exactile::blas {
namespace {

constexpr Size few_operations = 512;  ///< are done in the time that the kernel takes to begin
constexpr Size area = block_order * block_order;

/// op(A), or its transposed where `turned`, which is lower triangular.
template <class T>
void copy_triangle(const Columns<const T>& a, Op op, bool turned, Diagonal diagonal, Size order, T* to) {
  std::fill(to, to + order * block_order, T(0));
  for (Size j = 0; j < order; ++j) {
    for (Size i = j; i < order; ++i) {
      const T element = turned ? *a.at(op, j, i) : *a.at(op, i, j);
      to[i + j * block_order] = is_conjugated(op) ? conjugate(element) : element;
    }
    if (diagonal == Diagonal::ones) to[j + j * block_order] = T(1);
  }
}

/// The block as it meets a vector of B, element by element, and which zeros the reference's loops pass over: with a
/// plain matrix on the left those of the vector, on the right those of the matrix. Infinities beside them stay alone.
template <class T>
struct Elements {
  const T* lower;
  bool is_lower;  ///< the matrix that stands left of the vector
  Size order;
  bool passes_zeros_of_vector;
  bool passes_zeros_of_matrix;
  [[nodiscard]] T operator()(Size i, Size p) const noexcept {
    return is_lower ? lower[i + p * block_order] : lower[p + i * block_order];
  }
  [[nodiscard]] T term(Size i, Size p, T x) const noexcept {
    const T factor = (*this)(i, p);
    if ((passes_zeros_of_vector && x == T(0)) || (passes_zeros_of_matrix && i != p && factor == T(0))) return T(0);
    return factor * x;
  }
};

/// In place: what is read later is written later.
template <class T>
void by_elements(Task task, const Elements<T>& t, T alpha, T* x, Size step) {
  for (Size turn = 0; turn < t.order; ++turn) {
    // Solving begins at the corner that stands alone, a product ends there; q counts from that corner.
    const Size q = task == Task::solve ? turn : t.order - 1 - turn;
    const Size i = t.is_lower ? q : t.order - 1 - q;
    const T own = x[i * step];
    T sum = 0;
    for (Size r = 0; r < q; ++r) {
      const Size p = t.is_lower ? r : t.order - 1 - r;
      sum += t.term(i, p, x[p * step]);
    }
    if (task == Task::multiply) {
      x[i * step] = alpha * (sum + t.term(i, i, own));
    } else {
      const T left_over = alpha * own - sum;
      x[i * step] = t.passes_zeros_of_vector && left_over == T(0) ? T(0) : left_over / t(i, i);
    }
  }
}

/// `count` columns (left) or rows (right) of B from the one at b on.
template <class T>
void by_elements(Task task, Side side, const Elements<T>& t, Size count, T alpha, T* b, Size ld) {
  for (Size other = 0; other < count; ++other)
    if (side == Side::left)
      by_elements(task, t, alpha, b + other * ld, Size{1});
    else
      by_elements(task, t, alpha, b + other, ld);
}

/// The triangle's rows as the kernels take them: `lower`, or its transposed in the opposite order. False where a
/// diagonal has no reciprocal that is as good as a division.
template <class T>
[[nodiscard]] bool copy_rows(Task task, const T* lower, bool backwards, Size order, T* rows) {
  const Size padded = (order + row_group - 1) / row_group * row_group;
  for (Size i = 0; i < padded; ++i) {
    T* row = rows + i * block_order;
    std::fill(row, row + padded, T(0));
    row[i] = T(1);
    if (i >= order) continue;
    const Size last = order - 1;
    for (Size p = 0; p <= i; ++p)
      row[p] = backwards ? lower[last - p + (last - i) * block_order] : lower[i + p * block_order];
    if (task == Task::multiply) continue;
    for (Size p = 0; p < i; ++p) row[p] = -row[p];
    row[i] = T(1) / row[i];
    const Real<T> size = std::abs(row[i]);
    if (!std::isnormal(size) || !std::isnormal(1 / size)) return false;
  }
  return true;
}

}  // namespace

template <class T>
TriangleKernel<T> triangle_kernel() {
  switch (vectors()) {
    case Vectors::avx512: return avx512::triangle_kernel<T>();
    case Vectors::avx2: return avx2::triangle_kernel<T>();
    default: return portable::triangle_kernel<T>();
  }
}

template <class T>
void run_block(Task task, Side side, bool lower, Op op, Diagonal diagonal, Size order, Size others, T alpha,
               Columns<const T> a, Columns<T> b) {
  std::array<T, 2 * area> memory;
  T* const triangle = memory.data();
  T* const rows = triangle + area;
  copy_triangle(a, op, !lower, diagonal, order, triangle);
  const bool is_left = side == Side::left;
  const Elements<T> elements{triangle, lower == is_left, order, is_left && op == Op::plain, !is_left};
  const bool backwards = lower != is_left;
  if (order * order * others <= few_operations || !copy_rows(task, triangle, backwards, order, rows))
    return by_elements(task, side, elements, others, alpha, b.data, b.ld);
  const TriangleKernel<T> kernel = triangle_kernel<T>();
  const TriangleProblem<T> problem{task, is_left, backwards, order, alpha, rows};
  for (Size first = 0; first < others; first += kernel.width) {
    const Size count = std::min(kernel.width, others - first);
    T* part = is_left ? b.at(0, first) : b.at(first, 0);
    if (!kernel.run(problem, part, b.ld, count)) by_elements(task, side, elements, count, alpha, part, b.ld);
  }
}

#define EXACTILE_BLOCK(T) \
  template void run_block<T>(Task, Side, bool, Op, Diagonal, Size, Size, T, Columns<const T>, Columns<T>)
EXACTILE_BLOCK(float);
EXACTILE_BLOCK(double);
EXACTILE_BLOCK(std::complex<float>);
EXACTILE_BLOCK(std::complex<double>);
#undef EXACTILE_BLOCK

}  // namespace exactile::blas
