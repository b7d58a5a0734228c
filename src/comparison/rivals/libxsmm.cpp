// SPDX-License-Identifier: Apache-2.0
#include "comparison/rivals/kinds.hpp"
#include "comparison/rivals/shared_object.hpp"

namespace exactile::comparison {
namespace {

// Version 1.x. A product is a kernel of its own, made ahead; libxsmm's matrices are column-major.
template <class T>
using Kernel = void(const T* a, const T* b, T* c);
template <class T>
using Dispatch = Kernel<T>*(int m, int n, int k, const int* lda, const int* ldb, const int* ldc, const T* alpha,
                            const T* beta, const int* flags, const int* prefetch);

// Its own rule for what is worth a kernel is m * n * k <= 64^3; it would answer larger ones too, with unrolled loops
// that were not meant for them. 128^3 still runs well.
constexpr double largest_volume = 128.0 * 128.0 * 128.0;

template <class T>
std::unique_ptr<Call> prepare_as(Dispatch<T>* dispatch, const Product& p) {
  if (p.a.transposed || p.b.transposed) return nullptr;
  // Row-major C = A * B is column-major C^T = B^T * A^T of the same storage.
  const int m = static_cast<int>(p.n);
  const int n = static_cast<int>(p.m);
  const int k = static_cast<int>(p.k);
  const int lda = static_cast<int>(p.b.leading);
  const int ldb = static_cast<int>(p.a.leading);
  const int ldc = static_cast<int>(p.c.leading);
  const T alpha = 1;
  const T beta = 0;
  Kernel<T>* kernel = dispatch(m, n, k, &lda, &ldb, &ldc, &alpha, &beta, nullptr, nullptr);
  if (kernel == nullptr) return nullptr;
  return make_call([kernel](const void* a, const void* b, void* c) {
    kernel(static_cast<const T*>(b), static_cast<const T*>(a), static_cast<T*>(c));
  });
}

class Libxsmm final : public Rival {
 public:
  explicit Libxsmm(const std::string& path)
      : library_(path),
        f32_(library_.require<Dispatch<float>>("libxsmm_smmdispatch")),
        f64_(library_.require<Dispatch<double>>("libxsmm_dmmdispatch")) {
    library_.require<void()>("libxsmm_init")();
  }

  std::string version() const override {
    return std::string("libxsmm 1.x for ") + library_.require<const char*()>("libxsmm_get_target_arch")();
  }
  void set_threads(int) override {}  // its kernels are one thread's work
  std::unique_ptr<Call> prepare_one(const Product& p) const override {
    if (static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) > largest_volume) return nullptr;
    if (p.type == ElementType::f32) return prepare_as<float>(f32_, p);
    if (p.type == ElementType::f64) return prepare_as<double>(f64_, p);
    return nullptr;
  }

 private:
  SharedObject library_;
  Dispatch<float>* f32_;
  Dispatch<double>* f64_;
};

}  // namespace

std::unique_ptr<Contender> make_libxsmm(const std::string& path) { return std::make_unique<Libxsmm>(path); }

}  // namespace exactile::comparison
