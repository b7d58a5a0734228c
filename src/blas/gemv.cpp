// SPDX-License-Identifier: Apache-2.0
// ?gemv: y <- alpha op(A) x + beta y, where A itself is m x n.
#include "blas/arguments.hpp"
#include "blas/choice.hpp"
#include "blas/export.hpp"
#include "blas/quick.hpp"
#include "blas/settings.hpp"

namespace exactile::blas {
namespace {

template <class T>
[[gnu::noinline]] void gemv_at_length(const char* name, Op op, Size m, Size n, T alpha, const T* a, Size lda,
                                      const T* x, Size incx, T beta, T* y, Size incy) {
  const Report report(name, {{"m", m}, {"n", n}});
  if (op != Op::conjugated_plain &&
      done_elsewhere<T, Stem::gemv>({m, n}, letter(op), m, n, alpha, a, lda, x, incx, beta, y, incy))
    return;
  if (!is_transposed(op))
    multiply_vector(op, m, n, alpha, a, lda, x, incx, beta, y, incy);
  else
    multiply_vector(op, n, m, alpha, a, lda, x, incx, beta, y, incy);
}

template <class T>
[[gnu::noinline]] void gemv(const char* name, int rows, std::optional<Op> op, Size m, Size n, T alpha, const T* a,
                            Size lda, const T* x, Size incx, T beta, T* y, Size incy) {
  if (Checks()
          .that(op.has_value(), 1)
          .that(m >= 0, 2)
          .that(n >= 0, 3)
          .that(holds(lda, m), 6)
          .that(incx != 0, 8)
          .that(incy != 0, 11)
          .is_bad(name, rows))
    return;
  if (m == 0 || n == 0 || (alpha == T(0) && beta == T(1))) return;
  const Op done = settled<T>(*op);
  const bool turned = is_transposed(done);
  if (!multiply_vector_quickly(done, turned ? n : m, turned ? m : n, alpha, a, lda, x, incx, beta, y, incy))
    gemv_at_length(name, done, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

/// What op of a matrix by rows is of the same elements by columns.
template <class T>
[[nodiscard]] constexpr Op read_by_columns(Op op) noexcept {
  switch (settled<T>(op)) {
    case Op::plain: return Op::transposed;
    case Op::conjugated: return Op::conjugated_plain;
    default: return Op::plain;
  }
}

template <class T>
inline void cblas_gemv(const char* name, const char* c_name, int order, int trans, Size m, Size n, T alpha, const T* a,
                       Size lda, const T* x, Size incx, T beta, T* y, Size incy) {
  if (!is_order(order, c_name)) return;
  const auto op = op_of(trans);
  if (!op) return illegal_setting(2, c_name, "Illegal TransA setting, %d\n", trans, order);
  if (order == row_major)
    gemv<T>(name, 1, read_by_columns<T>(*op), n, m, alpha, a, lda, x, incx, beta, y, incy);
  else
    gemv(name, 0, op, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

}  // namespace
}  // namespace exactile::blas

namespace blas = exactile::blas;

#define EXACTILE_GEMV(T, stem, NAME, Int, suffix)                                                                \
  extern "C" EXACTILE_EXPORT void stem##suffix##_(const char* trans, const Int* m, const Int* n, const T* alpha, \
                                                  const T* a, const Int* lda, const T* x, const Int* incx,       \
                                                  const T* beta, T* y, const Int* incy) {                        \
    blas::gemv<T>(NAME, blas::from_fortran, blas::op_of(blas::letter(trans)), *m, *n, *alpha, a, *lda, x, *incx, \
                  *beta, y, *incy);                                                                              \
  }                                                                                                              \
  extern "C" EXACTILE_EXPORT void cblas_##stem##suffix(                                                          \
      int order, int trans, Int m, Int n, blas::Passed<T>::Number alpha, blas::Passed<T>::Input a, Int lda,      \
      blas::Passed<T>::Input x, Int incx, blas::Passed<T>::Number beta, blas::Passed<T>::Output y, Int incy) {   \
    blas::cblas_gemv<T>(NAME, "cblas_" #stem, order, trans, m, n, blas::Passed<T>::number(alpha),                \
                        blas::elements<T>(a), lda, blas::elements<T>(x), incx, blas::Passed<T>::number(beta),    \
                        blas::elements<T>(y), incy);                                                             \
  }

#define EXACTILE_GEMV_NAMES(T, stem, NAME)        \
  EXACTILE_GEMV(T, stem, NAME, std::int32_t, )    \
  EXACTILE_GEMV(T, stem, NAME, std::int64_t, _64) \
  EXACTILE_FORTRAN_ALIASES(stem);                 \
  EXACTILE_CBLAS_ALIASES(stem)

EXACTILE_GEMV_NAMES(float, sgemv, "SGEMV ");
EXACTILE_GEMV_NAMES(double, dgemv, "DGEMV ");
EXACTILE_GEMV_NAMES(std::complex<float>, cgemv, "CGEMV ");
EXACTILE_GEMV_NAMES(std::complex<double>, zgemv, "ZGEMV ");
