// SPDX-License-Identifier: Apache-2.0
#include "comparison/rivals/cblas.hpp"

#include <complex>

namespace exactile::comparison {
namespace {

constexpr int row_major = 101;
constexpr int as_stored = 111;
constexpr int transposed = 112;

/// What every routine is told of a product, as CBLAS has it.
struct Sizes {
  explicit Sizes(const Product& p)
      : transpose_a(p.a.transposed ? transposed : as_stored),
        transpose_b(p.b.transposed ? transposed : as_stored),
        m(static_cast<int>(p.m)),
        n(static_cast<int>(p.n)),
        k(static_cast<int>(p.k)),
        lda(static_cast<int>(p.a.leading)),
        ldb(static_cast<int>(p.b.leading)),
        ldc(static_cast<int>(p.c.leading)) {}

  int transpose_a, transpose_b;
  int m, n, k;
  int lda, ldb, ldc;
};

template <class T>
std::unique_ptr<Call> prepare_real(CblasGemm<T>* gemm, const Product& p) {
  return make_call([gemm, s = Sizes(p)](const void* a, const void* b, void* c) {
    gemm(row_major, s.transpose_a, s.transpose_b, s.m, s.n, s.k, T(1), static_cast<const T*>(a), s.lda,
         static_cast<const T*>(b), s.ldb, T(0), static_cast<T*>(c), s.ldc);
  });
}

/// Complex alpha and beta go by address.
template <class T>
std::unique_ptr<Call> prepare_complex(CblasComplexGemm* gemm, const Product& p) {
  return make_call([gemm, s = Sizes(p)](const void* a, const void* b, void* c) {
    const std::complex<T> one(1);
    const std::complex<T> zero(0);
    gemm(row_major, s.transpose_a, s.transpose_b, s.m, s.n, s.k, &one, a, s.lda, b, s.ldb, &zero, c, s.ldc);
  });
}

/// A product that is op(A) x or, transposed, op(B)^T x.
template <class T>
std::unique_ptr<Call> prepare_gemv(CblasGemv<T>* gemv, const Product& p) {
  const bool by_a = p.n == 1;
  const Layout& matrix = by_a ? p.a : p.b;
  const int rows = static_cast<int>(matrix.rows);
  const bool terms_are_rows = by_a == matrix.transposed;
  const int columns = static_cast<int>(terms_are_rows ? (by_a ? p.m : p.n) : p.k);
  const int transpose = terms_are_rows ? transposed : as_stored;
  const int lda = static_cast<int>(matrix.leading);
  const int x_step = static_cast<int>(by_a ? (p.b.transposed ? 1 : p.b.leading) : (p.a.transposed ? p.a.leading : 1));
  const int y_step = static_cast<int>(by_a ? p.c.leading : 1);
  return make_call([=](const void* a, const void* b, void* c) {
    gemv(row_major, transpose, rows, columns, T(1), static_cast<const T*>(by_a ? a : b), lda,
         static_cast<const T*>(by_a ? b : a), x_step, T(0), static_cast<T*>(c), y_step);
  });
}

template <class T>
std::unique_ptr<Call> prepare_dot(CblasDot<T>* dot, const Product& p) {
  const int terms = static_cast<int>(p.k);
  const int a_step = static_cast<int>(p.a.transposed ? p.a.leading : 1);
  const int b_step = static_cast<int>(p.b.transposed ? 1 : p.b.leading);
  return make_call([=](const void* a, const void* b, void* c) {
    *static_cast<T*>(c) = dot(terms, static_cast<const T*>(a), a_step, static_cast<const T*>(b), b_step);
  });
}

template <class T>
std::unique_ptr<Call> prepare_vector(CblasGemv<T>* gemv, CblasDot<T>* dot, const Product& p) {
  if (p.m == 1 && p.n == 1) return prepare_dot(dot, p);
  return p.m == 1 || p.n == 1 ? prepare_gemv(gemv, p) : nullptr;
}

}  // namespace

Cblas::Cblas(const SharedObject& library, const std::string& prefix, CblasRoutines routines)
    : routines_(routines),
      sgemv_(library.require<CblasGemv<float>>(prefix + "cblas_sgemv")),
      dgemv_(library.require<CblasGemv<double>>(prefix + "cblas_dgemv")),
      sdot_(library.require<CblasDot<float>>(prefix + "cblas_sdot")),
      ddot_(library.require<CblasDot<double>>(prefix + "cblas_ddot")),
      sgemm_(library.require<CblasGemm<float>>(prefix + "cblas_sgemm")),
      dgemm_(library.require<CblasGemm<double>>(prefix + "cblas_dgemm")),
      cgemm_(library.require<CblasComplexGemm>(prefix + "cblas_cgemm")),
      zgemm_(library.require<CblasComplexGemm>(prefix + "cblas_zgemm")) {}

std::unique_ptr<Call> Cblas::prepare(const Product& product) const {
  if (product.type != product.output) return nullptr;
  if (routines_ == CblasRoutines::vector) {
    if (product.type == ElementType::f32) return prepare_vector<float>(sgemv_, sdot_, product);
    if (product.type == ElementType::f64) return prepare_vector<double>(dgemv_, ddot_, product);
    return nullptr;
  }
  switch (product.type) {
    case ElementType::f32: return prepare_real<float>(sgemm_, product);
    case ElementType::f64: return prepare_real<double>(dgemm_, product);
    case ElementType::cf32: return prepare_complex<float>(cgemm_, product);
    case ElementType::cf64: return prepare_complex<double>(zgemm_, product);
    default: return nullptr;
  }
}

}  // namespace exactile::comparison
