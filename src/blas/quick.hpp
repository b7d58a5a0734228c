// SPDX-License-Identifier: Apache-2.0
/// \file The short way to a product that this thread has done before.
#pragma once

#include <atomic>

#include "blas/product.hpp"
#include "blas/settings.hpp"
#include "exactile/detail/remembered.hpp"

namespace exactile::blas {

/// Threads of a product, as settled by the first; 0 before, and for good where each call is to be reported.
extern std::atomic<int> quick_threads;

/// How the library's cache of plans knows the product.
template <class A, class B = A, class Out = A>
[[nodiscard]] inline detail::PlainProduct plain_product(Op op_a, Op op_b, Size m, Size n, Size k, Size lda, Size ldb,
                                                        Size ldc) {
  constexpr GemmTypes types{element_type_v<A>, element_type_v<Out>, element_type_v<B>};
  return {.m = m,
          .n = n,
          .k = k,
          .a_row = is_transposed(op_a) ? lda : 1,
          .a_column = is_transposed(op_a) ? 1 : lda,
          .b_row = is_transposed(op_b) ? ldb : 1,
          .b_column = is_transposed(op_b) ? 1 : ldb,
          .c_row = 1,
          .c_column = ldc,
          .form = detail::plain_form(types, is_conjugated(op_a), is_conjugated(op_b), backend,
                                     quick_threads.load(std::memory_order_relaxed))};
}

/// y as a column, whose elements are incx, incy > 0 apart.
template <class T>
[[nodiscard]] inline detail::PlainProduct plain_vector_product(Op op_a, Size m, Size n, Size lda, Size incx,
                                                               Size incy) {
  detail::PlainProduct product = plain_product<T>(op_a, Op::plain, m, 1, n, lda, 1, 1);
  product.b_row = incx;
  product.c_row = incy;
  return product;
}

/// What a quick product's factors are.
template <class T>
[[nodiscard]] constexpr bool is_real(T number) noexcept {
  if constexpr (is_complex_v<T>) return number.imag() == 0;
  return true;
}

/// Does the product where this thread has done its like before and it is over in nanoseconds; false where nothing has
/// happened.
template <class In, class Out>
[[nodiscard]] inline bool multiply_quickly(Op op_a, Op op_b, Size m, Size n, Size k, Out alpha, const In* a, Size lda,
                                           const In* b, Size ldb, Out beta, Out* c, Size ldc) {
  if (!is_real(alpha) || !is_real(beta)) return false;
  const auto* plan = detail::find_plan(plain_product<In, In, Out>(op_a, op_b, m, n, k, lda, ldb, ldc));
  return plan != nullptr && detail::run_quickly(*plan, a, b, c, static_cast<double>(std::real(alpha)),
                                                static_cast<double>(std::real(beta)));
}

/// The same of a vector.
template <class T>
[[nodiscard]] inline bool multiply_vector_quickly(Op op_a, Size m, Size n, T alpha, const T* a, Size lda, const T* x,
                                                  Size incx, T beta, T* y, Size incy) {
  if (!is_real(alpha) || !is_real(beta) || incx < 0 || incy < 0) return false;
  const auto* plan = detail::find_plan(plain_vector_product<T>(op_a, m, n, lda, incx, incy));
  return plan != nullptr && detail::run_quickly(*plan, a, x, y, static_cast<double>(std::real(alpha)),
                                                static_cast<double>(std::real(beta)));
}

}  // namespace exactile::blas
