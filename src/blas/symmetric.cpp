// SPDX-License-Identifier: Apache-2.0
// ?symm, ?syrk, ?syr2k and ?gemmtr (also ?gemmt, as MKL calls it) of real numbers.
#include "blas/level3_calls.hpp"

namespace exactile::blas {
namespace {

template <class T>
void symm(const char* name, int rows, std::optional<Side> side, std::optional<Triangle> triangle, Size m, Size n,
          T alpha, const T* a, Size lda, const T* b, Size ldb, T beta, T* c, Size ldc) {
  if (Checks()
          .that(side.has_value(), 1)
          .that(triangle.has_value(), 2)
          .that(m >= 0, 3)
          .that(n >= 0, 4)
          .that(holds(lda, side == Side::left ? m : n), 7)
          .that(holds(ldb, m), 9)
          .that(holds(ldc, m), 12)
          .is_bad(name, rows))
    return;
  if (m == 0 || n == 0 || (alpha == T(0) && beta == T(1))) return;
  const Report report(name, {{"m", m}, {"n", n}});
  if (alpha == T(0)) return scale(m, n, beta, Columns<T>{c, ldc});
  multiply_symmetric(*side, *triangle, m, n, alpha, {a, lda}, {b, ldb}, beta, {c, ldc});
}

template <class T>
void syrk(const char* name, int rows, std::optional<Triangle> triangle, std::optional<Op> op, Size n, Size k, T alpha,
          const T* a, Size lda, T beta, T* c, Size ldc) {
  if (Checks()
          .that(triangle.has_value(), 1)
          .that(op.has_value(), 2)
          .that(n >= 0, 3)
          .that(k >= 0, 4)
          .that(holds(lda, op == Op::plain ? n : k), 7)
          .that(holds(ldc, n), 10)
          .is_bad(name, rows))
    return;
  if (n == 0 || ((alpha == T(0) || k == 0) && beta == T(1))) return;
  const Report report(name, {{"n", n}, {"k", k}});
  if (alpha == T(0) || k == 0) return scale_triangle(*triangle, n, beta, Columns<T>{c, ldc});
  const Op as_it_is = settled<T>(*op);
  multiply_triangle(*triangle, as_it_is, other(as_it_is), n, k, alpha, {a, lda}, {a, lda}, beta, {c, ldc});
}

template <class T>
void syr2k(const char* name, int rows, std::optional<Triangle> triangle, std::optional<Op> op, Size n, Size k, T alpha,
           const T* a, Size lda, const T* b, Size ldb, T beta, T* c, Size ldc) {
  if (Checks()
          .that(triangle.has_value(), 1)
          .that(op.has_value(), 2)
          .that(n >= 0, 3)
          .that(k >= 0, 4)
          .that(holds(lda, op == Op::plain ? n : k), 7)
          .that(holds(ldb, op == Op::plain ? n : k), 9)
          .that(holds(ldc, n), 12)
          .is_bad(name, rows))
    return;
  if (n == 0 || ((alpha == T(0) || k == 0) && beta == T(1))) return;
  const Report report(name, {{"n", n}, {"k", k}});
  if (alpha == T(0) || k == 0) return scale_triangle(*triangle, n, beta, Columns<T>{c, ldc});
  const Op as_it_is = settled<T>(*op);
  multiply_triangle<T>(*triangle, as_it_is, other(as_it_is), n, k, alpha, {a, lda}, {b, ldb}, beta, {c, ldc});
  multiply_triangle<T>(*triangle, as_it_is, other(as_it_is), n, k, alpha, {b, ldb}, {a, lda}, T(1), {c, ldc});
}

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
void cblas_symm(const char* name, const char* c_name, int order, int side, int triangle, Size m, Size n, T alpha,
                const T* a, Size lda, const T* b, Size ldb, T beta, T* c, Size ldc) {
  if (!is_order(order, c_name)) return;
  const auto where = c_side_of(side);
  const auto which = c_triangle_of(triangle);
  if (!where) return illegal_setting(2, c_name, "Illegal Side setting, %d\n", side, order);
  if (!which) return illegal_setting(3, c_name, "Illegal Uplo setting, %d\n", triangle, order);
  if (order == row_major)
    symm(name, 1, std::optional(exchanged(*where)), std::optional(other(*which)), n, m, alpha, a, lda, b, ldb, beta, c,
         ldc);
  else
    symm(name, 0, where, which, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// The triangle and operation of a CBLAS call's matrices as they lie by columns; nothing where that has been reported.
[[nodiscard]] bool take(const char* c_name, int order, int triangle, int trans, std::optional<Triangle>& which,
                        std::optional<Op>& op) {
  if (!is_order(order, c_name)) return false;
  which = c_triangle_of(triangle);
  op = op_of(trans);
  if (!which) illegal_setting(2, c_name, "Illegal Uplo setting, %d\n", triangle, order);
  if (which && !op) illegal_setting(3, c_name, "Illegal Trans setting, %d\n", trans, order);
  if (!which || !op) return false;
  if (order == row_major) {
    which = other(*which);
    op = exchanged(*op);
  }
  return true;
}

template <class T>
void cblas_syrk(const char* name, const char* c_name, int order, int triangle, int trans, Size n, Size k, T alpha,
                const T* a, Size lda, T beta, T* c, Size ldc) {
  std::optional<Triangle> which;
  std::optional<Op> op;
  if (take(c_name, order, triangle, trans, which, op))
    syrk(name, order == row_major ? 1 : 0, which, op, n, k, alpha, a, lda, beta, c, ldc);
}

template <class T>
void cblas_syr2k(const char* name, const char* c_name, int order, int triangle, int trans, Size n, Size k, T alpha,
                 const T* a, Size lda, const T* b, Size ldb, T beta, T* c, Size ldc) {
  std::optional<Triangle> which;
  std::optional<Op> op;
  if (take(c_name, order, triangle, trans, which, op))
    syr2k(name, order == row_major ? 1 : 0, which, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
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

#define EXACTILE_SYMMETRIC(T, l, LETTER, Int, suffix)                                                                  \
  extern "C" EXACTILE_EXPORT void l##symm##suffix##_(const char* side, const char* uplo, const Int* m, const Int* n,   \
                                                     const T* alpha, const T* a, const Int* lda, const T* b,           \
                                                     const Int* ldb, const T* beta, T* c, const Int* ldc) {            \
    blas::symm<T>(LETTER "SYMM ", blas::from_fortran, blas::side_of(blas::letter(side)),                               \
                  blas::triangle_of(blas::letter(uplo)), *m, *n, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);            \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void l##syrk##suffix##_(const char* uplo, const char* trans, const Int* n, const Int* k,  \
                                                     const T* alpha, const T* a, const Int* lda, const T* beta, T* c,  \
                                                     const Int* ldc) {                                                 \
    blas::syrk<T>(LETTER "SYRK ", blas::from_fortran, blas::triangle_of(blas::letter(uplo)),                           \
                  blas::op_of(blas::letter(trans)), *n, *k, *alpha, a, *lda, *beta, c, *ldc);                          \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void l##syr2k##suffix##_(const char* uplo, const char* trans, const Int* n, const Int* k, \
                                                      const T* alpha, const T* a, const Int* lda, const T* b,          \
                                                      const Int* ldb, const T* beta, T* c, const Int* ldc) {           \
    blas::syr2k<T>(LETTER "SYR2K", blas::from_fortran, blas::triangle_of(blas::letter(uplo)),                          \
                   blas::op_of(blas::letter(trans)), *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);                \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void l##gemmtr##suffix##_(                                                                \
      const char* uplo, const char* trans_a, const char* trans_b, const Int* n, const Int* k, const T* alpha,          \
      const T* a, const Int* lda, const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {                   \
    blas::gemmtr<T>(LETTER "GEMMTR", blas::from_fortran, blas::triangle_of(blas::letter(uplo)),                        \
                    blas::op_of(blas::letter(trans_a)), blas::op_of(blas::letter(trans_b)), *n, *k, *alpha, a, *lda,   \
                    b, *ldb, *beta, c, *ldc);                                                                          \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void cblas_##l##symm##suffix(int order, int side, int uplo, Int m, Int n, T alpha,        \
                                                          const T* a, Int lda, const T* b, Int ldb, T beta, T* c,      \
                                                          Int ldc) {                                                   \
    blas::cblas_symm<T>(LETTER "SYMM ", "cblas_" #l "symm", order, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c,   \
                        ldc);                                                                                          \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void cblas_##l##syrk##suffix(int order, int uplo, int trans, Int n, Int k, T alpha,       \
                                                          const T* a, Int lda, T beta, T* c, Int ldc) {                \
    blas::cblas_syrk<T>(LETTER "SYRK ", "cblas_" #l "syrk", order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);    \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void cblas_##l##syr2k##suffix(int order, int uplo, int trans, Int n, Int k, T alpha,      \
                                                           const T* a, Int lda, const T* b, Int ldb, T beta, T* c,     \
                                                           Int ldc) {                                                  \
    blas::cblas_syr2k<T>(LETTER "SYR2K", "cblas_" #l "syr2k", order, uplo, trans, n, k, alpha, a, lda, b, ldb, beta,   \
                         c, ldc);                                                                                      \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void cblas_##l##gemmtr##suffix(int order, int uplo, int trans_a, int trans_b, Int n,      \
                                                            Int k, T alpha, const T* a, Int lda, const T* b, Int ldb,  \
                                                            T beta, T* c, Int ldc) {                                   \
    blas::cblas_gemmtr<T>(LETTER "GEMMTR", "cblas_" #l "gemmtr", order, uplo, trans_a, trans_b, n, k, alpha, a, lda,   \
                          b, ldb, beta, c, ldc);                                                                       \
  }

EXACTILE_SYMMETRIC(float, s, "S", std::int32_t, )
EXACTILE_SYMMETRIC(float, s, "S", std::int64_t, _64)
EXACTILE_SYMMETRIC(double, d, "D", std::int32_t, )
EXACTILE_SYMMETRIC(double, d, "D", std::int64_t, _64)

#define EXACTILE_SYMMETRIC_ALIASES(l)                  \
  EXACTILE_FORTRAN_ALIASES(l##symm);                   \
  EXACTILE_FORTRAN_ALIASES(l##syrk);                   \
  EXACTILE_FORTRAN_ALIASES(l##syr2k);                  \
  EXACTILE_FORTRAN_ALIASES(l##gemmtr);                 \
  EXACTILE_CBLAS_ALIASES(l##symm);                     \
  EXACTILE_CBLAS_ALIASES(l##syrk);                     \
  EXACTILE_CBLAS_ALIASES(l##syr2k);                    \
  EXACTILE_CBLAS_ALIASES(l##gemmtr);                   \
  EXACTILE_ALIAS(l##gemmt_, l##gemmtr_);               \
  EXACTILE_ALIAS(l##gemmt_64_, l##gemmtr_64_);         \
  EXACTILE_ALIAS(cblas_##l##gemmt, cblas_##l##gemmtr); \
  EXACTILE_ALIAS(cblas_##l##gemmt_64, cblas_##l##gemmtr_64)
EXACTILE_SYMMETRIC_ALIASES(s);
EXACTILE_SYMMETRIC_ALIASES(d);
