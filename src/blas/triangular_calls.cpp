// SPDX-License-Identifier: Apache-2.0
// ?trmm and ?trsm.
#include "blas/level3_calls.hpp"

namespace exactile::blas {
namespace {

template <class T>
using Routine = void(Side, Triangle, Op, Diagonal, Size, Size, T, Columns<const T>, Columns<T>);

template <Stem stem, class T>
void triangular(Routine<T>* routine, const char* name, int rows, std::optional<Side> side,
                std::optional<Triangle> triangle, std::optional<Op> op, std::optional<Diagonal> diagonal, Size m,
                Size n, T alpha, const T* a, Size lda, T* b, Size ldb) {
  if (Checks()
          .that(side.has_value(), 1)
          .that(triangle.has_value(), 2)
          .that(op.has_value(), 3)
          .that(diagonal.has_value(), 4)
          .that(m >= 0, 5)
          .that(n >= 0, 6)
          .that(holds(lda, side == Side::left ? m : n), 9)
          .that(holds(ldb, m), 11)
          .is_bad(name, rows))
    return;
  if (m == 0 || n == 0) return;
  const Report report(name, {{"m", m}, {"n", n}});
  if (alpha == T(0)) return scale(m, n, T(0), Columns<T>{b, ldb});
  if (done_elsewhere<T, stem>({m, n, side == Side::left ? m : n}, letter(*side), letter(*triangle), letter(*op),
                              letter(*diagonal), m, n, alpha, a, lda, b, ldb))
    return;
  routine(*side, *triangle, settled<T>(*op), *diagonal, m, n, alpha, {a, lda}, {b, ldb});
}

template <Stem stem, class T>
void cblas_triangular(Routine<T>* routine, const char* name, const char* c_name, int order, int side, int triangle,
                      int trans, int diagonal, Size m, Size n, T alpha, const T* a, Size lda, T* b, Size ldb) {
  if (!is_order(order, c_name)) return;
  const auto where = c_side_of(side);
  const auto which = c_triangle_of(triangle);
  const auto op = op_of(trans);
  const auto kind = c_diagonal_of(diagonal);
  if (!where) return illegal_setting(2, c_name, "Illegal Side setting, %d\n", side, order);
  if (!which) return illegal_setting(3, c_name, "Illegal Uplo setting, %d\n", triangle, order);
  if (!op) return illegal_setting(4, c_name, "Illegal Trans setting, %d\n", trans, order);
  if (!kind) return illegal_setting(5, c_name, "Illegal Diag setting, %d\n", diagonal, order);
  if (order == row_major)
    triangular<stem>(routine, name, 1, std::optional(exchanged(*where)), std::optional(other(*which)), op, kind, n, m,
                     alpha, a, lda, b, ldb);
  else
    triangular<stem>(routine, name, 0, where, which, op, kind, m, n, alpha, a, lda, b, ldb);
}

}  // namespace
}  // namespace exactile::blas

namespace blas = exactile::blas;

#define EXACTILE_TRIANGULAR(T, stem, NAME, kind, routine, Int, suffix)                                                 \
  extern "C" EXACTILE_EXPORT void stem##suffix##_(const char* side, const char* uplo, const char* trans,               \
                                                  const char* diag, const Int* m, const Int* n, const T* alpha,        \
                                                  const T* a, const Int* lda, T* b, const Int* ldb) {                  \
    blas::triangular<blas::Stem::kind, T>(&blas::routine<T>, NAME, blas::from_fortran,                                 \
                                          blas::side_of(blas::letter(side)), blas::triangle_of(blas::letter(uplo)),    \
                                          blas::op_of(blas::letter(trans)), blas::diagonal_of(blas::letter(diag)), *m, \
                                          *n, *alpha, a, *lda, b, *ldb);                                               \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void cblas_##stem##suffix(int order, int side, int uplo, int trans, int diag, Int m,      \
                                                       Int n, blas::Passed<T>::Number alpha, blas::Passed<T>::Input a, \
                                                       Int lda, blas::Passed<T>::Output b, Int ldb) {                  \
    blas::cblas_triangular<blas::Stem::kind, T>(&blas::routine<T>, NAME, "cblas_" #stem, order, side, uplo, trans,     \
                                                diag, m, n, blas::Passed<T>::number(alpha), blas::elements<T>(a), lda, \
                                                blas::elements<T>(b), ldb);                                            \
  }

#define EXACTILE_TRIANGULAR_NAMES(T, l, NAME, kind, routine)              \
  EXACTILE_TRIANGULAR(T, l##kind, NAME, kind, routine, std::int32_t, )    \
  EXACTILE_TRIANGULAR(T, l##kind, NAME, kind, routine, std::int64_t, _64) \
  EXACTILE_FORTRAN_ALIASES(l##kind);                                      \
  EXACTILE_CBLAS_ALIASES(l##kind)

#define EXACTILE_TRIANGULARS(T, l, LETTER)                                     \
  EXACTILE_TRIANGULAR_NAMES(T, l, LETTER "TRMM ", trmm, multiply_by_triangle); \
  EXACTILE_TRIANGULAR_NAMES(T, l, LETTER "TRSM ", trsm, solve_triangle)
EXACTILE_TRIANGULARS(float, s, "S");
EXACTILE_TRIANGULARS(double, d, "D");
EXACTILE_TRIANGULARS(std::complex<float>, c, "C");
EXACTILE_TRIANGULARS(std::complex<double>, z, "Z");
