// SPDX-License-Identifier: Apache-2.0
// ?gemm: C <- alpha op(A) op(B) + beta C.
#include <utility>

#include "blas/arguments.hpp"
#include "blas/choice.hpp"
#include "blas/export.hpp"
#include "blas/quick.hpp"
#include "blas/settings.hpp"

namespace exactile::blas {
namespace {

/// Does it where this thread has done its like before, sizes and all, and it is over in nanoseconds.
template <class In, class Out>
[[nodiscard]] inline bool gemm_quickly(Op op_a, Op op_b, Size m, Size n, Size k, Out alpha, const In* a, Size lda,
                                       const In* b, Size ldb, Out beta, Out* c, Size ldc) {
  const bool may_be_right =
      holds(lda, op_a == Op::plain ? m : k) && holds(ldb, op_b == Op::plain ? k : n) && holds(ldc, m);
  return may_be_right &&
         multiply_quickly(settled<Out>(op_a), settled<Out>(op_b), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// `rows` as report_parameter() takes it.
template <class In, class Out>
[[gnu::noinline]] void gemm(const char* name, int rows, std::optional<Op> of_a, std::optional<Op> of_b, Size m, Size n,
                            Size k, Out alpha, const In* a, Size lda, const In* b, Size ldb, Out beta, Out* c,
                            Size ldc) {
  if (Checks()
          .that(of_a.has_value(), 1)
          .that(of_b.has_value(), 2)
          .that(m >= 0, 3)
          .that(n >= 0, 4)
          .that(k >= 0, 5)
          .that(holds(lda, of_a == Op::plain ? m : k), 8)
          .that(holds(ldb, of_b == Op::plain ? k : n), 10)
          .that(holds(ldc, m), 13)
          .is_bad(name, rows))
    return;
  if (m == 0 || n == 0 || ((alpha == Out(0) || k == 0) && beta == Out(1))) return;
  const Op op_a = settled<Out>(*of_a);
  const Op op_b = settled<Out>(*of_b);
  const Report report(name, {{"m", m}, {"n", n}, {"k", k}});
  if constexpr (std::is_same_v<In, Out>)
    if (done_elsewhere<Out, Stem::gemm>({m, n, k}, letter(op_a), letter(op_b), m, n, k, alpha, a, lda, b, ldb, beta, c,
                                        ldc))
      return;
  multiply(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class In, class Out>
inline void fortran_gemm(const char* name, const char* trans_a, const char* trans_b, Size m, Size n, Size k, Out alpha,
                         const In* a, Size lda, const In* b, Size ldb, Out beta, Out* c, Size ldc) {
  const auto op_a = op_of(letter(trans_a));
  const auto op_b = op_of(letter(trans_b));
  if (!op_a || !op_b || !gemm_quickly(*op_a, *op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
    gemm(name, from_fortran, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class In, class Out>
inline void cblas_gemm(const char* name, const char* c_name, int order, int trans_a, int trans_b, Size m, Size n,
                       Size k, Out alpha, const In* a, Size lda, const In* b, Size ldb, Out beta, Out* c, Size ldc) {
  if (!is_order(order, c_name)) return;
  auto op_a = op_of(trans_a);
  auto op_b = op_of(trans_b);
  if (!op_a) return illegal_setting(2, c_name, "Illegal TransA setting, %d\n", trans_a, order);
  if (!op_b) return illegal_setting(3, c_name, "Illegal TransB setting, %d\n", trans_b, order);
  if (order == row_major) {  // C^T = op(B)^T op(A)^T, and what lies by rows is by columns the transposed
    std::swap(op_a, op_b);
    std::swap(a, b);
    std::swap(lda, ldb);
    std::swap(m, n);
  }
  if (!gemm_quickly(*op_a, *op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
    gemm(name, order == row_major ? 1 : 0, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace
}  // namespace exactile::blas

namespace blas = exactile::blas;

// In: the type of A and B, T: that of the rest.
#define EXACTILE_GEMM(In, T, stem, NAME, Int, suffix)                                                                  \
  extern "C" EXACTILE_EXPORT void stem##suffix##_(                                                                     \
      const char* trans_a, const char* trans_b, const Int* m, const Int* n, const Int* k, const T* alpha, const In* a, \
      const Int* lda, const In* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {                              \
    blas::fortran_gemm(NAME, trans_a, trans_b, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);                  \
  }                                                                                                                    \
  extern "C" EXACTILE_EXPORT void cblas_##stem##suffix(                                                                \
      int order, int trans_a, int trans_b, Int m, Int n, Int k, blas::Passed<T>::Number alpha,                         \
      blas::Passed<In>::Input a, Int lda, blas::Passed<In>::Input b, Int ldb, blas::Passed<T>::Number beta,            \
      blas::Passed<T>::Output c, Int ldc) {                                                                            \
    blas::cblas_gemm(NAME, "cblas_" #stem, order, trans_a, trans_b, m, n, k, blas::Passed<T>::number(alpha),           \
                     blas::elements<In>(a), lda, blas::elements<In>(b), ldb, blas::Passed<T>::number(beta),            \
                     blas::elements<T>(c), ldc);                                                                       \
  }

#define EXACTILE_GEMM_NAMES(In, T, stem, NAME)        \
  EXACTILE_GEMM(In, T, stem, NAME, std::int32_t, )    \
  EXACTILE_GEMM(In, T, stem, NAME, std::int64_t, _64) \
  EXACTILE_FORTRAN_ALIASES(stem);                     \
  EXACTILE_CBLAS_ALIASES(stem)

EXACTILE_GEMM_NAMES(float, float, sgemm, "SGEMM ");
EXACTILE_GEMM_NAMES(double, double, dgemm, "DGEMM ");
EXACTILE_GEMM_NAMES(std::complex<float>, std::complex<float>, cgemm, "CGEMM ");
EXACTILE_GEMM_NAMES(std::complex<double>, std::complex<double>, zgemm, "ZGEMM ");
// A and B of bfloat16, 16-bit codes, with sums and C of float, as OpenBLAS has it.
EXACTILE_GEMM_NAMES(exactile::BFloat16, float, sbgemm, "SBGEMM");

// ?gemm3m: the name under which other libraries multiply with three real products, at a larger error. Here it is ?gemm.
#define EXACTILE_GEMM3M_NAMES(l)                            \
  EXACTILE_ALIAS(l##gemm3m_, l##gemm_);                     \
  EXACTILE_ALIAS(l##gemm3m_64_, l##gemm_64_);               \
  EXACTILE_ALIAS(cblas_##l##gemm3m, cblas_##l##gemm);       \
  EXACTILE_ALIAS(cblas_##l##gemm3m_64, cblas_##l##gemm_64); \
  EXACTILE_FORTRAN_ALIASES(l##gemm3m);                      \
  EXACTILE_CBLAS_ALIASES(l##gemm3m)
EXACTILE_GEMM3M_NAMES(c);
EXACTILE_GEMM3M_NAMES(z);
