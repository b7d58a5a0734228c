// SPDX-License-Identifier: Apache-2.0
/// \file
/// The CBLAS calls that OpenBLAS, BLIS and MKL share.
#pragma once

#include <memory>
#include <string>

#include "comparison/contender.hpp"
#include "comparison/rivals/shared_object.hpp"

namespace exactile::comparison {

template <class T>
using CblasGemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha, const T* a, int lda,
                       const T* b, int ldb, T beta, T* c, int ldc);

using CblasComplexGemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, const void* alpha,
                              const void* a, int lda, const void* b, int ldb, const void* beta, void* c, int ldc);

template <class T>
using CblasGemv = void(int order, int transpose, int m, int n, T alpha, const T* a, int lda, const T* x, int incx,
                       T beta, T* y, int incy);
template <class T>
using CblasDot = T(int n, const T* x, int incx, const T* y, int incy);

/// Which of a library's routines compete.
enum class CblasRoutines : std::uint8_t {
  gemm,
  vector,  ///< ?gemv where C is one row or column, ?dot where it is one element; nothing else
};

/// The routines of one library; `prefix` stands before "cblas_".
class Cblas {
 public:
  Cblas(const SharedObject& library, const std::string& prefix, CblasRoutines routines);
  [[nodiscard]] std::unique_ptr<Call> prepare(const Product& product) const;

 private:
  CblasRoutines routines_;
  CblasGemv<float>* sgemv_;
  CblasGemv<double>* dgemv_;
  CblasDot<float>* sdot_;
  CblasDot<double>* ddot_;
  CblasGemm<float>* sgemm_;
  CblasGemm<double>* dgemm_;
  CblasComplexGemm* cgemm_;
  CblasComplexGemm* zgemm_;
};

}  // namespace exactile::comparison
