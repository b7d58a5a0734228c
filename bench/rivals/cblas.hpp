// SPDX-License-Identifier: Apache-2.0
/// \file
/// The CBLAS call that OpenBLAS, BLIS and MKL share.
#pragma once

#include <memory>
#include <string>

#include "rivals/contender.hpp"
#include "rivals/shared_object.hpp"

namespace exactile::bench {

template <class T>
using CblasGemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha, const T* a, int lda,
                       const T* b, int ldb, T beta, T* c, int ldc);

/// The two routines of one library; `prefix` stands before "cblas_".
class Cblas {
 public:
  Cblas(const SharedObject& library, const std::string& prefix);
  [[nodiscard]] std::unique_ptr<Call> prepare(const Product& product) const;

 private:
  CblasGemm<float>* sgemm_;
  CblasGemm<double>* dgemm_;
};

}  // namespace exactile::bench
