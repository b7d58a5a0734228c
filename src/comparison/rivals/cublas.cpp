// SPDX-License-Identifier: Apache-2.0
#include "comparison/rivals/cublas.hpp"

#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "comparison/rivals/kinds.hpp"
#include "comparison/rivals/shared_object.hpp"

namespace exactile::comparison {
namespace {

std::optional<int> data_type(ElementType type) {
  switch (type) {
    case ElementType::f32: return 0;
    case ElementType::f64: return 1;
    case ElementType::f16: return 2;
    case ElementType::i8: return 3;
    case ElementType::cf32: return 4;
    case ElementType::cf64: return 5;
    case ElementType::i32: return 10;
    case ElementType::bf16: return 14;
    case ElementType::f8e4m3: return 28;
    case ElementType::f8e5m2: return 29;
    default: return std::nullopt;
  }
}

constexpr int compute_32f = 68;
constexpr int compute_64f = 70;
constexpr int compute_32i = 72;
constexpr int compute_32f_tf32 = 77;

using CublasHandle = void*;
using GemmStridedBatched = int(CublasHandle handle, int transpose_a, int transpose_b, int m, int n, int k,
                               const void* alpha, const void* a, int a_type, int lda, long long a_stride, const void* b,
                               int b_type, int ldb, long long b_stride, const void* beta, void* c, int c_type, int ldc,
                               long long c_stride, int batch, int compute_type, int algorithm);

/// cublasGemmEx and its strided batch; the library's own choice of algorithm.
class Cublas final : public Contender {
 public:
  Cublas(const std::string& path, const Context& context)
      : library_(path), gemm_(library_.require<GemmStridedBatched>("cublasGemmStridedBatchedEx")) {
    if (library_.require<int(CublasHandle*)>("cublasCreate_v2")(&handle_) != 0)
      throw std::runtime_error("cublasCreate failed");
    library_.require<int(CublasHandle, void*)>("cublasSetStream_v2")(handle_, context.execution().queue);
  }

  std::string version() const override {
    int number = 0;
    library_.require<int(CublasHandle, int*)>("cublasGetVersion_v2")(handle_, &number);
    return "cuBLAS " + std::to_string(number);
  }
  void set_threads(int) override {}

  std::unique_ptr<Call> prepare(const Product& product) const override {
    const auto types = cublas_types(product);
    const auto shape = cublas_shape(product);
    const bool is_fp8 = product.type == ElementType::f8e4m3 || product.type == ElementType::f8e5m2;
    if (!types || !shape || is_fp8) return nullptr;
    // cuBLAS takes 8-bit integers only with leading dimensions of whole words.
    if (product.type == ElementType::i8 && (shape->first_leading % 4 != 0 || shape->second_leading % 4 != 0))
      return nullptr;
    return make_call([handle = handle_, gemm = gemm_, t = *types, s = *shape, scalars = CublasScalars(*types)](
                         const void* a, const void* b, void* c) {
      constexpr int default_algorithm = -1;
      const int status =
          gemm(handle, s.transposes_first ? 1 : 0, s.transposes_second ? 1 : 0, s.m, s.n, s.k, scalars.one(), b,
               t.input, static_cast<int>(s.first_leading), s.first_distance, a, t.input,
               static_cast<int>(s.second_leading), s.second_distance, scalars.zero(), c, t.output,
               static_cast<int>(s.c_leading), s.c_distance, s.batch, t.compute, default_algorithm);
      if (status != 0) throw std::runtime_error("cublasGemmStridedBatchedEx: status " + std::to_string(status));
    });
  }

 private:
  SharedObject library_;
  GemmStridedBatched* gemm_;
  CublasHandle handle_ = nullptr;
};

}  // namespace

std::optional<CublasTypes> cublas_types(const Product& product) {
  const auto input = data_type(product.type);
  const auto output = data_type(product.output);
  if (!input || !output || product.type == ElementType::i32 || product.type_b != product.type) return std::nullopt;
  if (product.type == ElementType::f64 || product.type == ElementType::cf64)
    return CublasTypes{*input, *output, compute_64f, *input};
  if (product.type == ElementType::cf32) return CublasTypes{*input, *output, compute_32f, *input};
  if (product.type == ElementType::i8) return CublasTypes{*input, *output, compute_32i, *data_type(ElementType::i32)};
  const bool is_tf32 = product.type == ElementType::f32 && product.accuracy == Accuracy::reduced;
  return CublasTypes{*input, *output, is_tf32 ? compute_32f_tf32 : compute_32f, *data_type(ElementType::f32)};
}

CublasScalars::CublasScalars(const CublasTypes& types) {
  const float f32 = 1;
  const double f64 = 1;
  const std::int32_t i32 = 1;
  if (types.compute == compute_64f) {
    std::memcpy(one_, &f64, sizeof f64);
  } else if (types.compute == compute_32i) {
    std::memcpy(one_, &i32, sizeof i32);
  } else {
    std::memcpy(one_, &f32, sizeof f32);
  }
}

std::optional<CublasShape> cublas_shape(const Product& p) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  for (const std::int64_t size : {p.m, p.n, p.k, p.batch, p.a.leading, p.b.leading, p.c.leading})
    if (size > most) return std::nullopt;
  if (p.a.step != 1 || p.b.step != 1 || p.c.step != 1 || p.c.transposed) return std::nullopt;
  return CublasShape{.m = static_cast<int>(p.n),
                     .n = static_cast<int>(p.m),
                     .k = static_cast<int>(p.k),
                     .transposes_first = p.b.transposed,
                     .transposes_second = p.a.transposed,
                     .first_leading = p.b.leading,
                     .second_leading = p.a.leading,
                     .c_leading = p.c.leading,
                     .first_distance = p.b.elements(),
                     .second_distance = p.a.elements(),
                     .c_distance = p.c.elements(),
                     .batch = static_cast<int>(p.batch)};
}

std::unique_ptr<Contender> make_cublas(const std::string& path, const Context& context) {
  return std::make_unique<Cublas>(path, context);
}

}  // namespace exactile::comparison
