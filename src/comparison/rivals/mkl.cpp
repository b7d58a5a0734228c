// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "comparison/rivals/cblas.hpp"
#include "comparison/rivals/kinds.hpp"

namespace exactile::comparison {
namespace {

class Mkl final : public Rival {
 public:
  explicit Mkl(const std::string& path, CblasRoutines routines)
      : routines_(routines), library_(path), cblas_(library_, "", routines) {}

  std::string version() const override {
    std::array<char, 256> text{};
    library_.require<void(char*, int)>("MKL_Get_Version_String")(text.data(), static_cast<int>(text.size()) - 1);
    return std::string(text.data());
  }
  // The layer settles at the library's first product and cannot be changed later.
  void set_threads(int threads) override {
    constexpr int sequential = 1;
    constexpr int gnu = 3;
    library_.require<int(int)>("MKL_Set_Threading_Layer")(threads == 1 ? sequential : gnu);
    library_.require<void(int)>("MKL_Set_Num_Threads")(threads);
  }
  std::unique_ptr<Call> prepare_one(const Product& product) const override {
    const bool is_narrow = product.type == ElementType::bf16 || product.type == ElementType::f16;
    return is_narrow && routines_ == CblasRoutines::gemm ? prepare_narrow(product) : cblas_.prepare(product);
  }

 private:
  /// C is f32.
  std::unique_ptr<Call> prepare_narrow(const Product& p) const {
    using Gemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const void* a,
                      int lda, const void* b, int ldb, float beta, float* c, int ldc);
    if (p.output != ElementType::f32) return nullptr;
    auto* gemm =
        library_.require<Gemm>(p.type == ElementType::bf16 ? "cblas_gemm_bf16bf16f32" : "cblas_gemm_f16f16f32");
    constexpr int row_major = 101;
    constexpr int as_stored = 111;
    constexpr int transposed = 112;
    const auto size = [](std::int64_t number) { return static_cast<int>(number); };
    return make_call([=, a_order = p.a.transposed ? transposed : as_stored,
                      b_order = p.b.transposed ? transposed : as_stored, m = size(p.m), n = size(p.n), k = size(p.k),
                      lda = size(p.a.leading), ldb = size(p.b.leading),
                      ldc = size(p.c.leading)](const void* a, const void* b, void* c) {
      gemm(row_major, a_order, b_order, m, n, k, 1, a, lda, b, ldb, 0, static_cast<float*>(c), ldc);
    });
  }

  CblasRoutines routines_;
  SharedObject library_;
  Cblas cblas_;
};

}  // namespace

std::unique_ptr<Contender> make_mkl(const std::string& path, CblasRoutines routines) {
  return std::make_unique<Mkl>(path, routines);
}

}  // namespace exactile::comparison
