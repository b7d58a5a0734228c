// SPDX-License-Identifier: Apache-2.0
// Products with a triangular matrix or its inverse, in place: the triangle is halved down to blocks on its diagonal
// (triangular_block.hpp), and what lies beside them is multiplied.
#include "blas/level3.hpp"
#include "blas/triangular_block.hpp"

namespace exactile::blas {
namespace {

template <class T>
struct Problem {
  Task task;
  Side side;
  bool lower;  ///< of op(A)
  Op op;
  Diagonal diagonal;
};

/// B <- alpha op(A) B, alpha B op(A), or what solves for X: A of the given order, B with `others` columns or rows.
template <class T>
void run(const Problem<T>& p, Size order, Size others, T alpha, Columns<const T> a, Columns<T> b) {
  if (order <= block_order) return run_block(p.task, p.side, p.lower, p.op, p.diagonal, order, others, alpha, a, b);
  const Size half = half_of(order, block_order);
  const Size rest = order - half;
  const bool is_left = p.side == Side::left;
  const Columns<const T> a_rest{a.at(half, half), a.ld};
  const Columns<T> b_rest{is_left ? b.at(half, 0) : b.at(0, half), b.ld};
  // The part of B that the off-diagonal block of op(A) adds to, and the one it takes.
  const bool adds_to_rest = p.lower == is_left;
  const Columns<T> target = adds_to_rest ? b_rest : b;
  const Columns<T> source = adds_to_rest ? b : b_rest;
  const T* beside = p.lower ? a.at(p.op, half, 0) : a.at(p.op, 0, half);
  const auto first_half = [&](T factor) { run(p, half, others, factor, a, b); };
  const auto second_half = [&](T factor) { run(p, rest, others, factor, a_rest, b_rest); };
  const auto add = [&](T factor, T beta) {
    const Size size = adds_to_rest ? rest : half;
    const Size terms = adds_to_rest ? half : rest;
    if (is_left)
      multiply(p.op, Op::plain, size, others, terms, factor, beside, a.ld, source.data, b.ld, beta, target.data, b.ld);
    else
      multiply(Op::plain, p.op, others, size, terms, factor, source.data, b.ld, beside, a.ld, beta, target.data, b.ld);
  };
  if (p.task == Task::multiply) {  // the source is still what it was when it is added
    adds_to_rest ? second_half(alpha) : first_half(alpha);
    add(alpha, T(1));
    adds_to_rest ? first_half(alpha) : second_half(alpha);
  } else {  // the source is solved for first
    adds_to_rest ? first_half(alpha) : second_half(alpha);
    add(T(-1), alpha);
    adds_to_rest ? second_half(T(1)) : first_half(T(1));
  }
}

template <class T>
void run(Task task, Side side, Triangle triangle, Op op, Diagonal diagonal, Size m, Size n, T alpha, Columns<const T> a,
         Columns<T> b) {
  const bool lower = (triangle == Triangle::lower) != is_transposed(op);
  const Problem<T> problem{task, side, lower, op, diagonal};
  run(problem, side == Side::left ? m : n, side == Side::left ? n : m, alpha, a, b);
}

}  // namespace

template <class T>
void multiply_by_triangle(Side side, Triangle triangle, Op op, Diagonal diagonal, Size m, Size n, T alpha,
                          Columns<const T> a, Columns<T> b) {
  run(Task::multiply, side, triangle, op, diagonal, m, n, alpha, a, b);
}

template <class T>
void solve_triangle(Side side, Triangle triangle, Op op, Diagonal diagonal, Size m, Size n, T alpha, Columns<const T> a,
                    Columns<T> b) {
  run(Task::solve, side, triangle, op, diagonal, m, n, alpha, a, b);
}

#define EXACTILE_TRIANGULAR(T)                                                                                      \
  template void multiply_by_triangle<T>(Side, Triangle, Op, Diagonal, Size, Size, T, Columns<const T>, Columns<T>); \
  template void solve_triangle<T>(Side, Triangle, Op, Diagonal, Size, Size, T, Columns<const T>, Columns<T>)
EXACTILE_TRIANGULAR(float);
EXACTILE_TRIANGULAR(double);
EXACTILE_TRIANGULAR(std::complex<float>);
EXACTILE_TRIANGULAR(std::complex<double>);
#undef EXACTILE_TRIANGULAR

}  // namespace exactile::blas
