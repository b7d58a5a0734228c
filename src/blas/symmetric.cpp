// SPDX-License-Identifier: Apache-2.0
// ?symm, ?syrk and ?syr2k, and of complex numbers ?hemm, ?herk and ?her2k.
#include "blas/level3_calls.hpp"

namespace exactile::blas {
namespace {

/// A factor that keeps a Hermitian matrix what it is.
template <Mirror mirror, class T>
using Factor = std::conditional_t<mirror == Mirror::hermitian, Real<T>, T>;

/// ?syrk of complex numbers has no 'C', ?herk no 'T'.
template <Mirror mirror, class T>
[[nodiscard]] constexpr bool has(std::optional<Op> op) noexcept {
  if (!op) return false;
  return !is_complex_v<T> || *op == Op::plain || *op == other<mirror>(Op::plain);
}

template <Mirror mirror, class T>
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
  constexpr Stem stem = mirror == Mirror::hermitian ? Stem::hemm : Stem::symm;
  if (done_elsewhere<T, stem>({m, n, side == Side::left ? m : n}, letter(*side), letter(*triangle), m, n, alpha, a, lda,
                              b, ldb, beta, c, ldc))
    return;
  multiply_symmetric<mirror>(*side, *triangle, m, n, alpha, {a, lda}, {b, ldb}, beta, {c, ldc});
}

/// Where no product is to be added.
template <Mirror mirror, class T>
void scale_symmetric(Triangle triangle, Size n, Factor<mirror, T> beta, T* c, Size ldc) {
  scale_triangle(triangle, n, T(beta), Columns<T>{c, ldc});
  if (mirror == Mirror::hermitian) make_diagonal_real(n, Columns<T>{c, ldc});
}

template <Mirror mirror, class T>
void syrk(const char* name, int rows, std::optional<Triangle> triangle, std::optional<Op> op, Size n, Size k,
          Factor<mirror, T> alpha, const T* a, Size lda, Factor<mirror, T> beta, T* c, Size ldc) {
  if (Checks()
          .that(triangle.has_value(), 1)
          .that(has<mirror, T>(op), 2)
          .that(n >= 0, 3)
          .that(k >= 0, 4)
          .that(holds(lda, op == Op::plain ? n : k), 7)
          .that(holds(ldc, n), 10)
          .is_bad(name, rows))
    return;
  const bool is_nothing = alpha == Factor<mirror, T>(0) || k == 0;
  if (n == 0 || (is_nothing && beta == Factor<mirror, T>(1))) return;
  const Report report(name, {{"n", n}, {"k", k}});
  if (is_nothing) return scale_symmetric<mirror>(*triangle, n, beta, c, ldc);
  constexpr Stem stem = mirror == Mirror::hermitian ? Stem::herk : Stem::syrk;
  if (done_elsewhere<T, stem>({n, n, k}, letter(*triangle), letter(*op), n, k, alpha, a, lda, beta, c, ldc)) return;
  const Op as_it_is = settled<T>(*op);
  multiply_triangle<T>(*triangle, as_it_is, other<mirror>(as_it_is), n, k, T(alpha), {a, lda}, {a, lda}, T(beta),
                       {c, ldc});
  if (mirror == Mirror::hermitian) make_diagonal_real(n, Columns<T>{c, ldc});
}

template <Mirror mirror, class T>
void syr2k(const char* name, int rows, std::optional<Triangle> triangle, std::optional<Op> op, Size n, Size k, T alpha,
           const T* a, Size lda, const T* b, Size ldb, Factor<mirror, T> beta, T* c, Size ldc) {
  if (Checks()
          .that(triangle.has_value(), 1)
          .that(has<mirror, T>(op), 2)
          .that(n >= 0, 3)
          .that(k >= 0, 4)
          .that(holds(lda, op == Op::plain ? n : k), 7)
          .that(holds(ldb, op == Op::plain ? n : k), 9)
          .that(holds(ldc, n), 12)
          .is_bad(name, rows))
    return;
  const bool is_nothing = alpha == T(0) || k == 0;
  if (n == 0 || (is_nothing && beta == Factor<mirror, T>(1))) return;
  const Report report(name, {{"n", n}, {"k", k}});
  if (is_nothing) return scale_symmetric<mirror>(*triangle, n, beta, c, ldc);
  constexpr Stem stem = mirror == Mirror::hermitian ? Stem::her2k : Stem::syr2k;
  if (done_elsewhere<T, stem>({n, n, k}, letter(*triangle), letter(*op), n, k, alpha, a, lda, b, ldb, beta, c, ldc))
    return;
  const Op as_it_is = settled<T>(*op);
  const Op mirrored = other<mirror>(as_it_is);
  const T alpha_mirrored = mirror == Mirror::hermitian ? conjugate(alpha) : alpha;
  multiply_triangle<T>(*triangle, as_it_is, mirrored, n, k, alpha, {a, lda}, {b, ldb}, T(beta), {c, ldc});
  multiply_triangle<T>(*triangle, as_it_is, mirrored, n, k, alpha_mirrored, {b, ldb}, {a, lda}, T(1), {c, ldc});
  if (mirror == Mirror::hermitian) make_diagonal_real(n, Columns<T>{c, ldc});
}

template <Mirror mirror, class T>
void cblas_symm(const char* name, const char* c_name, int order, int side, int triangle, Size m, Size n, T alpha,
                const T* a, Size lda, const T* b, Size ldb, T beta, T* c, Size ldc) {
  if (!is_order(order, c_name)) return;
  const auto where = c_side_of(side);
  const auto which = c_triangle_of(triangle);
  if (!where) return illegal_setting(2, c_name, "Illegal Side setting, %d\n", side, order);
  if (!which) return illegal_setting(3, c_name, "Illegal Uplo setting, %d\n", triangle, order);
  if (order == row_major)
    symm<mirror>(name, 1, std::optional(exchanged(*where)), std::optional(other(*which)), n, m, alpha, a, lda, b, ldb,
                 beta, c, ldc);
  else
    symm<mirror>(name, 0, where, which, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// The triangle and operation of a CBLAS call's matrices as they lie by columns; nothing where that has been reported.
template <Mirror mirror, class T>
[[nodiscard]] bool take(const char* c_name, int order, int triangle, int trans, std::optional<Triangle>& which,
                        std::optional<Op>& op) {
  if (!is_order(order, c_name)) return false;
  which = c_triangle_of(triangle);
  op = op_of(trans);
  if (!has<mirror, T>(op)) op.reset();
  if (!which) illegal_setting(2, c_name, "Illegal Uplo setting, %d\n", triangle, order);
  if (which && !op) illegal_setting(3, c_name, "Illegal Trans setting, %d\n", trans, order);
  if (!which || !op) return false;
  if (order == row_major) {
    which = other(*which);
    op = other<mirror>(*op);
  }
  return true;
}

template <Mirror mirror, class T>
void cblas_syrk(const char* name, const char* c_name, int order, int triangle, int trans, Size n, Size k,
                Factor<mirror, T> alpha, const T* a, Size lda, Factor<mirror, T> beta, T* c, Size ldc) {
  std::optional<Triangle> which;
  std::optional<Op> op;
  if (take<mirror, T>(c_name, order, triangle, trans, which, op))
    syrk<mirror>(name, order == row_major ? 1 : 0, which, op, n, k, alpha, a, lda, beta, c, ldc);
}

template <Mirror mirror, class T>
void cblas_syr2k(const char* name, const char* c_name, int order, int triangle, int trans, Size n, Size k, T alpha,
                 const T* a, Size lda, const T* b, Size ldb, Factor<mirror, T> beta, T* c, Size ldc) {
  std::optional<Triangle> which;
  std::optional<Op> op;
  if (!take<mirror, T>(c_name, order, triangle, trans, which, op)) return;
  // Read by columns, A B^H becomes conj(A^H B): alpha and its conjugate change places.
  if (order == row_major && mirror == Mirror::hermitian) alpha = conjugate(alpha);
  syr2k<mirror>(name, order == row_major ? 1 : 0, which, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace
}  // namespace exactile::blas

namespace blas = exactile::blas;

#define EXACTILE_SYMM(T, l, what, NAME, mirror, Int, suffix)                                                         \
  extern "C" EXACTILE_EXPORT void l##what##m##suffix##_(                                                             \
      const char* side, const char* uplo, const Int* m, const Int* n, const T* alpha, const T* a, const Int* lda,    \
      const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {                                             \
    blas::symm<blas::Mirror::mirror, T>(NAME "M ", blas::from_fortran, blas::side_of(blas::letter(side)),            \
                                        blas::triangle_of(blas::letter(uplo)), *m, *n, *alpha, a, *lda, b, *ldb,     \
                                        *beta, c, *ldc);                                                             \
  }                                                                                                                  \
  extern "C" EXACTILE_EXPORT void cblas_##l##what##m##suffix(                                                        \
      int order, int side, int uplo, Int m, Int n, blas::Passed<T>::Number alpha, blas::Passed<T>::Input a, Int lda, \
      blas::Passed<T>::Input b, Int ldb, blas::Passed<T>::Number beta, blas::Passed<T>::Output c, Int ldc) {         \
    blas::cblas_symm<blas::Mirror::mirror, T>(NAME "M ", "cblas_" #l #what "m", order, side, uplo, m, n,             \
                                              blas::Passed<T>::number(alpha), blas::elements<T>(a), lda,             \
                                              blas::elements<T>(b), ldb, blas::Passed<T>::number(beta),              \
                                              blas::elements<T>(c), ldc);                                            \
  }

// F: the type of alpha and beta of ?syrk and ?herk, and of beta of ?syr2k and ?her2k.
#define EXACTILE_RANK_K(T, F, l, what, NAME, mirror, Int, suffix)                                                      \
  extern "C" EXACTILE_EXPORT void l##what##k##suffix##_(const char* uplo, const char* trans, const Int* n,             \
                                                        const Int* k, const F* alpha, const T* a, const Int* lda,      \
                                                        const F* beta, T* c, const Int* ldc) {                         \
    blas::syrk<blas::Mirror::mirror, T>(NAME "K ", blas::from_fortran, blas::triangle_of(blas::letter(uplo)),          \
                                        blas::op_of(blas::letter(trans)), *n, *k, *alpha, a, *lda, *beta, c, *ldc);    \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void l##what##2k##suffix##_(                                                              \
      const char* uplo, const char* trans, const Int* n, const Int* k, const T* alpha, const T* a, const Int* lda,     \
      const T* b, const Int* ldb, const F* beta, T* c, const Int* ldc) {                                               \
    blas::syr2k<blas::Mirror::mirror, T>(NAME "2K", blas::from_fortran, blas::triangle_of(blas::letter(uplo)),         \
                                         blas::op_of(blas::letter(trans)), *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, \
                                         *ldc);                                                                        \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void cblas_##l##what##k##suffix(                                                          \
      int order, int uplo, int trans, Int n, Int k, blas::Passed<F>::Number alpha, blas::Passed<T>::Input a, Int lda,  \
      blas::Passed<F>::Number beta, blas::Passed<T>::Output c, Int ldc) {                                              \
    blas::cblas_syrk<blas::Mirror::mirror, T>(NAME "K ", "cblas_" #l #what "k", order, uplo, trans, n, k,              \
                                              blas::Passed<F>::number(alpha), blas::elements<T>(a), lda,               \
                                              blas::Passed<F>::number(beta), blas::elements<T>(c), ldc);               \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void cblas_##l##what##2k##suffix(                                                         \
      int order, int uplo, int trans, Int n, Int k, blas::Passed<T>::Number alpha, blas::Passed<T>::Input a, Int lda,  \
      blas::Passed<T>::Input b, Int ldb, blas::Passed<F>::Number beta, blas::Passed<T>::Output c, Int ldc) {           \
    blas::cblas_syr2k<blas::Mirror::mirror, T>(NAME "2K", "cblas_" #l #what "2k", order, uplo, trans, n, k,            \
                                               blas::Passed<T>::number(alpha), blas::elements<T>(a), lda,              \
                                               blas::elements<T>(b), ldb, blas::Passed<F>::number(beta),               \
                                               blas::elements<T>(c), ldc);                                             \
  }

#define EXACTILE_SYMMETRIC(T, F, l, symm, syr, SYMM, SYR, mirror) \
  EXACTILE_SYMM(T, l, symm, SYMM, mirror, std::int32_t, )         \
  EXACTILE_SYMM(T, l, symm, SYMM, mirror, std::int64_t, _64)      \
  EXACTILE_RANK_K(T, F, l, syr, SYR, mirror, std::int32_t, )      \
  EXACTILE_RANK_K(T, F, l, syr, SYR, mirror, std::int64_t, _64)   \
  EXACTILE_FORTRAN_ALIASES(l##symm##m);                           \
  EXACTILE_FORTRAN_ALIASES(l##syr##k);                            \
  EXACTILE_FORTRAN_ALIASES(l##syr##2k);                           \
  EXACTILE_CBLAS_ALIASES(l##symm##m);                             \
  EXACTILE_CBLAS_ALIASES(l##syr##k);                              \
  EXACTILE_CBLAS_ALIASES(l##syr##2k)

EXACTILE_SYMMETRIC(float, float, s, sym, syr, "SSYM", "SSYR", symmetric);
EXACTILE_SYMMETRIC(double, double, d, sym, syr, "DSYM", "DSYR", symmetric);
EXACTILE_SYMMETRIC(std::complex<float>, std::complex<float>, c, sym, syr, "CSYM", "CSYR", symmetric);
EXACTILE_SYMMETRIC(std::complex<double>, std::complex<double>, z, sym, syr, "ZSYM", "ZSYR", symmetric);
EXACTILE_SYMMETRIC(std::complex<float>, float, c, hem, her, "CHEM", "CHER", hermitian);
EXACTILE_SYMMETRIC(std::complex<double>, double, z, hem, her, "ZHEM", "ZHER", hermitian);
