// SPDX-License-Identifier: Apache-2.0
#include "blas/triangular_block.hpp"

#include <algorithm>
#include <array>

#include "blas/scratch.hpp"
#include "blas/settings.hpp"

namespace exactile::blas {
namespace {

constexpr Size base_order = 8;        ///< of what is inverted element by element
constexpr Size width = 256;           ///< columns (rows) of B that one product covers, for each thread
constexpr Size few_operations = 512;  ///< are done in the time that a product takes to begin
constexpr Size area = block_order * block_order;

/// What a block works with: matrices of leading dimension block_order, lower triangular, zeros above.
template <class T>
struct Block {
  T* lower;    ///< op(A), or its transposed where that is lower triangular
  T* inverse;  ///< of it
  T* between;
  T* copy;      ///< of B's part
  T* residual;  ///< of the first solution
  bool is_plain;
};

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

/// v <- the inverse of the lower triangle l; above it v is zero already.
template <class T>
void invert(Size order, const T* l, T* v, T* between) {
  if (order <= base_order) {
    for (Size j = 0; j < order; ++j)
      for (Size i = j; i < order; ++i) {
        T sum = i == j ? T(1) : T(0);
        for (Size p = j; p < i; ++p) sum -= l[i + p * block_order] * v[p + j * block_order];
        v[i + j * block_order] = sum / l[i + i * block_order];
      }
    return;
  }
  const Size half = half_of(order, base_order);
  const Size rest = order - half;
  const Size corner = half + half * block_order;
  invert(half, l, v, between);
  invert(rest, l + corner, v + corner, between);
  multiply(Op::plain, Op::plain, rest, half, half, T(1), l + half, block_order, v, block_order, T(0), between,
           block_order);
  multiply(Op::plain, Op::plain, rest, half, rest, T(-1), v + corner, block_order, between, block_order, T(0), v + half,
           block_order);
}

/// Whether there is an infinity or NaN: these, and these alone, are not 0 when multiplied by it.
template <class T>
[[nodiscard]] bool all_finite(Size m, Size n, const Columns<T>& b) {
  constexpr Size lanes = 16;
  std::array<Real<T>, lanes> zeros{};
  const Size numbers = is_complex_v<T> ? 2 * m : m;
  for (Size j = 0; j < n; ++j) {
    const auto* column = reinterpret_cast<const Real<T>*>(b.at(0, j));
    Size i = 0;
    for (; i + lanes <= numbers; i += lanes)
      for (Size lane = 0; lane < lanes; ++lane) zeros[static_cast<std::size_t>(lane)] += column[i + lane] * Real<T>(0);
    for (; i < numbers; ++i) zeros[0] += column[i] * Real<T>(0);
  }
  return std::ranges::all_of(zeros, [](Real<T> zero) { return zero == 0; });
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

/// `to` may be `from`: what is read later is written later.
template <class T>
void by_elements(Task task, const Elements<T>& t, T alpha, const T* from, Size from_step, T* to, Size to_step) {
  for (Size turn = 0; turn < t.order; ++turn) {
    // Solving begins at the corner that stands alone, a product ends there; q counts from that corner.
    const Size q = task == Task::solve ? turn : t.order - 1 - turn;
    const Size i = t.is_lower ? q : t.order - 1 - q;
    const T own = from[i * from_step];
    T sum = 0;
    for (Size r = 0; r < q; ++r) {
      const Size p = t.is_lower ? r : t.order - 1 - r;
      sum += t.term(i, p, task == Task::solve ? to[p * to_step] : from[p * from_step]);
    }
    if (task == Task::multiply) {
      to[i * to_step] = alpha * (sum + t.term(i, i, own));
    } else {
      const T left_over = alpha * own - sum;
      to[i * to_step] = t.passes_zeros_of_vector && left_over == T(0) ? T(0) : left_over / t(i, i);
    }
  }
}

/// All of B's part, from a copy whose leading dimension is `from_ld` or from B itself.
template <class T>
void by_elements(Task task, Side side, const Elements<T>& t, Size others, T alpha, const T* from, Size from_ld,
                 const Columns<T>& b) {
  for (Size other = 0; other < others; ++other)
    if (side == Side::left)
      by_elements(task, t, alpha, from + other * from_ld, Size{1}, b.at(0, other), Size{1});
    else
      by_elements(task, t, alpha, from + other, from_ld, b.at(other, 0), b.ld);
}

template <class T>
[[nodiscard]] Elements<T> elements_of(const Block<T>& block, Side side, bool lower, Size order) {
  const bool is_left = side == Side::left;
  return {block.lower, lower == is_left, order, is_left && block.is_plain, !is_left};
}

/// One stretch of B: `count` columns (left) or rows (right).
template <class T>
void run_stretch(Task task, Side side, bool lower, const Block<T>& block, Size order, Size count, T alpha,
                 const Columns<T>& b) {
  const bool is_left = side == Side::left;
  const Size rows = is_left ? order : count;
  const Size columns = is_left ? count : order;
  for (Size j = 0; j < columns; ++j) std::copy(b.at(0, j), b.at(0, j) + rows, block.copy + j * rows);
  const Op op = lower ? Op::plain : Op::transposed;
  // to <- alpha matrix from + beta to, or from matrix
  const auto apply = [&](const T* matrix, T factor, const T* from, Size from_ld, T beta, T* to, Size to_ld) {
    if (is_left)
      multiply(op, Op::plain, rows, columns, order, factor, matrix, block_order, from, from_ld, beta, to, to_ld);
    else
      multiply(Op::plain, op, rows, columns, order, factor, from, from_ld, matrix, block_order, beta, to, to_ld);
  };
  apply(task == Task::solve ? block.inverse : block.lower, alpha, block.copy, rows, T(0), b.data, b.ld);
  if (task == Task::solve) {
    apply(block.lower, T(1), b.data, b.ld, T(0), block.residual, rows);
    for (Size i = 0; i < rows * columns; ++i) block.residual[i] = alpha * block.copy[i] - block.residual[i];
    apply(block.inverse, T(1), block.residual, rows, T(1), b.data, b.ld);
  }
  if (all_finite(rows, columns, b)) return;
  by_elements(task, side, elements_of(block, side, lower, order), count, alpha, block.copy, rows, b);
}

}  // namespace

template <class T>
void run_block(Task task, Side side, bool lower, Op op, Diagonal diagonal, Size order, Size others, T alpha,
               Columns<const T> a, Columns<T> b) {
  const Size stretch = std::min(others, width * threads());
  T* memory = scratch<T>(3 * area + 2 * block_order * stretch);
  const Block<T> block{
      memory,         memory + area, memory + 2 * area, memory + 3 * area, memory + 3 * area + block_order * stretch,
      op == Op::plain};
  copy_triangle(a, op, !lower, diagonal, order, block.lower);
  if (order * order * others <= few_operations)
    return by_elements(task, side, elements_of(block, side, lower, order), others, alpha, b.data, b.ld, b);
  if (task == Task::solve) {
    std::fill(block.inverse, block.inverse + order * block_order, T(0));
    invert(order, block.lower, block.inverse, block.between);
  }
  for (Size first = 0; first < others; first += stretch)
    run_stretch(task, side, lower, block, order, std::min(stretch, others - first), alpha,
                Columns<T>{side == Side::left ? b.at(0, first) : b.at(first, 0), b.ld});
}

#define EXACTILE_BLOCK(T) \
  template void run_block<T>(Task, Side, bool, Op, Diagonal, Size, Size, T, Columns<const T>, Columns<T>)
EXACTILE_BLOCK(float);
EXACTILE_BLOCK(double);
EXACTILE_BLOCK(std::complex<float>);
EXACTILE_BLOCK(std::complex<double>);
#undef EXACTILE_BLOCK

}  // namespace exactile::blas
