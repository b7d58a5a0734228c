// SPDX-License-Identifier: Apache-2.0
#include "rivals/cblas.hpp"

namespace exactile::bench {
namespace {

constexpr int row_major = 101;
constexpr int as_stored = 111;
constexpr int transposed = 112;

template <class T>
std::unique_ptr<Call> prepare_as(CblasGemm<T>* gemm, const Product& p) {
  const int transpose_a = p.a.transposed ? transposed : as_stored;
  const int transpose_b = p.b.transposed ? transposed : as_stored;
  const int m = static_cast<int>(p.m);
  const int n = static_cast<int>(p.n);
  const int k = static_cast<int>(p.k);
  const int lda = static_cast<int>(p.a.leading);
  const int ldb = static_cast<int>(p.b.leading);
  const int ldc = static_cast<int>(p.c.leading);
  return make_call([=](const void* a, const void* b, void* c) {
    gemm(row_major, transpose_a, transpose_b, m, n, k, T(1), static_cast<const T*>(a), lda, static_cast<const T*>(b),
         ldb, T(0), static_cast<T*>(c), ldc);
  });
}

}  // namespace

Cblas::Cblas(const SharedObject& library, const std::string& prefix)
    : sgemm_(library.require<CblasGemm<float>>(prefix + "cblas_sgemm")),
      dgemm_(library.require<CblasGemm<double>>(prefix + "cblas_dgemm")) {}

std::unique_ptr<Call> Cblas::prepare(const Product& product) const {
  if (product.type == ElementType::f32) return prepare_as<float>(sgemm_, product);
  if (product.type == ElementType::f64) return prepare_as<double>(dgemm_, product);
  return nullptr;
}

}  // namespace exactile::bench
