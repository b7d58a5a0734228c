// SPDX-License-Identifier: Apache-2.0
// cblas_?gemm_batch and cblas_?gemm_batch_strided, as MKL and OpenBLAS have them.
#include "blas/arguments.hpp"
#include "blas/export.hpp"
#include "blas/settings.hpp"

namespace exactile::blas {
namespace {

/// A product whose parameters have been found sound, by columns.
template <class T>
struct Group {
  Op op_a;
  Op op_b;
  Size m;
  Size n;
  Size k;
  T alpha;
  Size lda;
  Size ldb;
  T beta;
  Size ldc;
  bool exchanged;  ///< by rows: A and B change places
  [[nodiscard]] bool is_nothing() const { return m == 0 || n == 0 || ((alpha == T(0) || k == 0) && beta == T(1)); }
};

/// Where a routine's parameters stand in its call.
struct Places {
  int lda;
  int ldb;
  int ldc;
  int count;
};

/// Reports a parameter by its place in the C call, whatever the order: no Fortran call stands behind a batch.
void illegal(int parameter, const char* c_name, const char* what, Size value) {
  illegal_setting(parameter, c_name, what, static_cast<int>(value), column_major);
}

/// What a call means by columns; nothing where a parameter is bad, which has been reported.
template <class T>
[[nodiscard]] std::optional<Group<T>> group_of(const char* c_name, const Places& places, int order, int trans_a,
                                               int trans_b, Size m, Size n, Size k, T alpha, Size lda, Size ldb, T beta,
                                               Size ldc, Size count) {
  const auto refuse = [&](int parameter, const char* what, Size value) {
    illegal(parameter, c_name, what, value);
    return std::nullopt;
  };
  if (!is_order(order, c_name)) return std::nullopt;
  const auto op_a = op_of(trans_a);
  const auto op_b = op_of(trans_b);
  if (!op_a) return refuse(2, "Illegal TransA setting, %d\n", trans_a);
  if (!op_b) return refuse(3, "Illegal TransB setting, %d\n", trans_b);
  if (m < 0) return refuse(4, "Illegal M, %d\n", m);
  if (n < 0) return refuse(5, "Illegal N, %d\n", n);
  if (k < 0) return refuse(6, "Illegal K, %d\n", k);
  const bool by_rows = order == row_major;
  if (!holds(lda, (op_a == Op::plain) != by_rows ? m : k)) return refuse(places.lda, "Illegal lda, %d\n", lda);
  if (!holds(ldb, (op_b == Op::plain) != by_rows ? k : n)) return refuse(places.ldb, "Illegal ldb, %d\n", ldb);
  if (!holds(ldc, by_rows ? n : m)) return refuse(places.ldc, "Illegal ldc, %d\n", ldc);
  if (count < 0) return refuse(places.count, "Illegal batch size, %d\n", count);
  if (by_rows) return Group<T>{settled<T>(*op_b), settled<T>(*op_a), n, m, k, alpha, ldb, lda, beta, ldc, true};
  return Group<T>{settled<T>(*op_a), settled<T>(*op_b), m, n, k, alpha, lda, ldb, beta, ldc, false};
}

template <class T>
void gemm_batch_strided(const char* c_name, int order, int trans_a, int trans_b, Size m, Size n, Size k, T alpha,
                        const T* a, Size lda, Size a_step, const T* b, Size ldb, Size b_step, T beta, T* c, Size ldc,
                        Size c_step, Size count) {
  constexpr Places places{.lda = 9, .ldb = 12, .ldc = 16, .count = 18};
  const auto group = group_of(c_name, places, order, trans_a, trans_b, m, n, k, alpha, lda, ldb, beta, ldc, count);
  if (!group || group->is_nothing() || count == 0) return;
  if (group->exchanged) {
    std::swap(a, b);
    std::swap(a_step, b_step);
  }
  const Report report(c_name, {{"m", m}, {"n", n}, {"k", k}, {"count", count}});
  const Group<T>& g = *group;
  multiply_strided(g.op_a, g.op_b, g.m, g.n, g.k, alpha, a, g.lda, a_step, b, g.ldb, b_step, beta, c, ldc, c_step,
                   count);
}

/// Groups of products; the arrays of pointers go through all of them.
template <class T, class Int>
void gemm_batch(const char* c_name, int order, const int* trans_a, const int* trans_b, const Int* m, const Int* n,
                const Int* k, const T* alpha, const T* const* a, const Int* lda, const T* const* b, const Int* ldb,
                const T* beta, T* const* c, const Int* ldc, Int group_count, const Int* group_size) {
  constexpr Places places{.lda = 9, .ldb = 11, .ldc = 14, .count = 16};
  if (group_count < 0) return illegal(15, c_name, "Illegal group count, %d\n", group_count);
  for (Int i = 0; i < group_count; ++i) {
    const Size count = group_size[i];
    const auto group = group_of(c_name, places, order, trans_a[i], trans_b[i], m[i], n[i], k[i], alpha[i], lda[i],
                                ldb[i], beta[i], ldc[i], count);
    if (!group) return;
    if (!group->is_nothing() && count != 0) {
      const Report report(c_name, {{"m", m[i]}, {"n", n[i]}, {"k", k[i]}, {"count", count}});
      const Group<T>& g = *group;
      multiply_listed(g.op_a, g.op_b, g.m, g.n, g.k, g.alpha, g.exchanged ? b : a, g.lda, g.exchanged ? a : b, g.ldb,
                      g.beta, c, g.ldc, count);
    }
    a += count;
    b += count;
    c += count;
  }
}

}  // namespace
}  // namespace exactile::blas

namespace blas = exactile::blas;

#define EXACTILE_BATCH(T, stem, Int, suffix)                                                                         \
  extern "C" EXACTILE_EXPORT void cblas_##stem##_batch_strided##suffix(                                              \
      int order, int trans_a, int trans_b, Int m, Int n, Int k, blas::Passed<T>::Number alpha,                       \
      blas::Passed<T>::Input a, Int lda, Int a_step, blas::Passed<T>::Input b, Int ldb, Int b_step,                  \
      blas::Passed<T>::Number beta, blas::Passed<T>::Output c, Int ldc, Int c_step, Int count) {                     \
    blas::gemm_batch_strided<T>("cblas_" #stem "_batch_strided", order, trans_a, trans_b, m, n, k,                   \
                                blas::Passed<T>::number(alpha), blas::elements<T>(a), lda, a_step,                   \
                                blas::elements<T>(b), ldb, b_step, blas::Passed<T>::number(beta),                    \
                                blas::elements<T>(c), ldc, c_step, count);                                           \
  }                                                                                                                  \
  extern "C" EXACTILE_EXPORT void cblas_##stem##_batch##suffix(                                                      \
      int order, const int* trans_a, const int* trans_b, const Int* m, const Int* n, const Int* k,                   \
      blas::Passed<T>::Numbers alpha, blas::Passed<T>::Inputs a, const Int* lda, blas::Passed<T>::Inputs b,          \
      const Int* ldb, blas::Passed<T>::Numbers beta, blas::Passed<T>::Outputs c, const Int* ldc, Int group_count,    \
      const Int* group_size) {                                                                                       \
    blas::gemm_batch<T, Int>("cblas_" #stem "_batch", order, trans_a, trans_b, m, n, k, blas::elements<T>(alpha),    \
                             reinterpret_cast<const T* const*>(a), lda, reinterpret_cast<const T* const*>(b), ldb,   \
                             blas::elements<T>(beta), reinterpret_cast<T* const*>(c), ldc, group_count, group_size); \
  }

#define EXACTILE_BATCHES(T, stem)         \
  EXACTILE_BATCH(T, stem, std::int32_t, ) \
  EXACTILE_BATCH(T, stem, std::int64_t, _64)
EXACTILE_BATCHES(float, sgemm)
EXACTILE_BATCHES(double, dgemm)
EXACTILE_BATCHES(std::complex<float>, cgemm)
EXACTILE_BATCHES(std::complex<double>, zgemm)
