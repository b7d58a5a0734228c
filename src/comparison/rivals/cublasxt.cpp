// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <stdexcept>
#include <string>

#include "comparison/rivals/cublas.hpp"
#include "comparison/rivals/kinds.hpp"
#include "comparison/rivals/shared_object.hpp"

namespace exactile::comparison {
namespace {

using XtHandle = void*;
template <class T>
using XtGemm = int(XtHandle handle, int transpose_a, int transpose_b, std::size_t m, std::size_t n, std::size_t k,
                   const T* alpha, const T* a, std::size_t lda, const T* b, std::size_t ldb, const T* beta, T* c,
                   std::size_t ldc);

/// cublasXtSgemm and cublasXtDgemm on device 0.
class CublasXt final : public Rival {
 public:
  explicit CublasXt(const std::string& path) : library_(path) {
    // Larger blocks than the library's 2048 move less; of 2048, 4096 and 8192 this one is the fastest from 16384^3 on.
    constexpr int block_size = 8192;
    int device = 0;
    const bool ready = library_.require<int(XtHandle*)>("cublasXtCreate")(&handle_) == 0 &&
                       library_.require<int(XtHandle, int, int*)>("cublasXtDeviceSelect")(handle_, 1, &device) == 0 &&
                       library_.require<int(XtHandle, int)>("cublasXtSetBlockDim")(handle_, block_size) == 0;
    if (!ready) throw std::runtime_error("cublasXtCreate failed");
  }

  std::string version() const override {
    int number = 0;
    library_.require<int(int, int*)>("cublasGetProperty")(0, &number);
    return "cuBLASXt " + std::to_string(number) + ", blocks of 8192";
  }
  void set_threads(int) override {}

 protected:
  std::unique_ptr<Call> prepare_one(const Product& product) const override {
    if (product.type != product.output) return nullptr;
    if (product.type == ElementType::f32) return call_of<float>("cublasXtSgemm", product);
    if (product.type == ElementType::f64) return call_of<double>("cublasXtDgemm", product);
    return nullptr;
  }

 private:
  template <class T>
  std::unique_ptr<Call> call_of(const std::string& name, const Product& product) const {
    const auto shape = cublas_shape(product);
    if (!shape) return nullptr;
    return make_call([handle = handle_, gemm = library_.require<XtGemm<T>>(name), s = *shape](const void* a,
                                                                                              const void* b, void* c) {
      const T one = 1, zero = 0;
      const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
      const int status =
          gemm(handle, s.transposes_first ? 1 : 0, s.transposes_second ? 1 : 0, size(s.m), size(s.n), size(s.k), &one,
               static_cast<const T*>(b), size(s.first_leading), static_cast<const T*>(a), size(s.second_leading), &zero,
               static_cast<T*>(c), size(s.c_leading));
      if (status != 0) throw std::runtime_error("cublasXt: status " + std::to_string(status));
    });
  }

  SharedObject library_;
  XtHandle handle_ = nullptr;
};

}  // namespace

std::unique_ptr<Contender> make_cublasxt(const std::string& path) { return std::make_unique<CublasXt>(path); }

}  // namespace exactile::comparison
