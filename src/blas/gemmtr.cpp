// SPDX-License-Identifier: Apache-2.0
// ?gemmtr, one triangle of a product (also ?gemmt, as MKL calls it).
#include "blas/level3_calls.hpp"

namespace exactile::blas {
namespace {

template <class T>
void gemmtr(const char* name, int rows, std::optional<Triangle> triangle, std::optional<Op> op_a,
            std::optional<Op> op_b, Size n, Size k, T alpha, const T* a, Size lda, const T* b, Size ldb, T beta, T* c,
            Size ldc) {
  if (Checks()
          .that(triangle.has_value(), 1)
          .that(op_a.has_value(), 2)
          .that(op_b.has_value(), 3)
          .that(n >= 0, 4)
          .that(k >= 0, 5)
          .that(holds(lda, op_a == Op::plain ? n : k), 8)
          .that(holds(ldb, op_b == Op::plain ? k : n), 10)
          .that(holds(ldc, n), 13)
          .is_bad(name, rows))
    return;
  if (n == 0 || ((alpha == T(0) || k == 0) && beta == T(1))) return;
  const Report report(name, {{"n", n}, {"k", k}});
  if (alpha == T(0) || k == 0) return scale_triangle(*triangle, n, beta, Columns<T>{c, ldc});
  multiply_triangle<T>(*triangle, settled<T>(*op_a), settled<T>(*op_b), n, k, alpha, {a, lda}, {b, ldb}, beta,
                       {c, ldc});
}

template <class T>
void cblas_gemmtr(const char* name, const char* c_name, int order, int triangle, int trans_a, int trans_b, Size n,
                  Size k, T alpha, const T* a, Size lda, const T* b, Size ldb, T beta, T* c, Size ldc) {
  if (!is_order(order, c_name)) return;
  const auto which = c_triangle_of(triangle);
  const auto op_a = op_of(trans_a);
  const auto op_b = op_of(trans_b);
  if (!which) return illegal_setting(2, c_name, "Illegal Uplo setting, %d\n", triangle, order);
  if (!op_a) return illegal_setting(3, c_name, "Illegal TransA setting, %d\n", trans_a, order);
  if (!op_b) return illegal_setting(4, c_name, "Illegal TransB setting, %d\n", trans_b, order);
  if (order == row_major)
    gemmtr(name, 1, std::optional(other(*which)), op_b, op_a, n, k, alpha, b, ldb, a, lda, beta, c, ldc);
  else
    gemmtr(name, 0, which, op_a, op_b, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace
}  // namespace exactile::blas

namespace blas = exactile::blas;

#define EXACTILE_GEMMTR(T, stem, NAME, Int, suffix)                                                                  \
  extern "C" EXACTILE_EXPORT void stem##suffix##_(                                                                   \
      const char* uplo, const char* trans_a, const char* trans_b, const Int* n, const Int* k, const T* alpha,        \
      const T* a, const Int* lda, const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {                 \
    blas::gemmtr<T>(NAME, blas::from_fortran, blas::triangle_of(blas::letter(uplo)),                                 \
                    blas::op_of(blas::letter(trans_a)), blas::op_of(blas::letter(trans_b)), *n, *k, *alpha, a, *lda, \
                    b, *ldb, *beta, c, *ldc);                                                                        \
  }                                                                                                                  \
  extern "C" EXACTILE_EXPORT void cblas_##stem##suffix(                                                              \
      int order, int uplo, int trans_a, int trans_b, Int n, Int k, blas::Passed<T>::Number alpha,                    \
      blas::Passed<T>::Input a, Int lda, blas::Passed<T>::Input b, Int ldb, blas::Passed<T>::Number beta,            \
      blas::Passed<T>::Output c, Int ldc) {                                                                          \
    blas::cblas_gemmtr<T>(NAME, "cblas_" #stem, order, uplo, trans_a, trans_b, n, k, blas::Passed<T>::number(alpha), \
                          blas::elements<T>(a), lda, blas::elements<T>(b), ldb, blas::Passed<T>::number(beta),       \
                          blas::elements<T>(c), ldc);                                                                \
  }

#define EXACTILE_GEMMTR_NAMES(T, l, NAME)                \
  EXACTILE_GEMMTR(T, l##gemmtr, NAME, std::int32_t, )    \
  EXACTILE_GEMMTR(T, l##gemmtr, NAME, std::int64_t, _64) \
  EXACTILE_FORTRAN_ALIASES(l##gemmtr);                   \
  EXACTILE_CBLAS_ALIASES(l##gemmtr);                     \
  EXACTILE_ALIAS(l##gemmt_, l##gemmtr_);                 \
  EXACTILE_ALIAS(l##gemmt_64_, l##gemmtr_64_);           \
  EXACTILE_ALIAS(cblas_##l##gemmt, cblas_##l##gemmtr);   \
  EXACTILE_ALIAS(cblas_##l##gemmt_64, cblas_##l##gemmtr_64)

EXACTILE_GEMMTR_NAMES(float, s, "SGEMMTR");
EXACTILE_GEMMTR_NAMES(double, d, "DGEMMTR");
EXACTILE_GEMMTR_NAMES(std::complex<float>, c, "CGEMMTR");
EXACTILE_GEMMTR_NAMES(std::complex<double>, z, "ZGEMMTR");
