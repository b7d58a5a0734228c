// SPDX-License-Identifier: Apache-2.0
// cublasSgemm, cublasCgemm, cublasGemmEx and their strided batches: C <- alpha op(A) op(B) + beta C, by columns.
#include <cublas_api.h>

#include <complex>

#include "cublas/multiply.hpp"
#include "cublas/next.hpp"
#include "cublas/settings.hpp"
#include "cublas/workspace.hpp"

namespace exactile::cublas {
namespace {

using Size = std::int64_t;

struct Matrix {
  const void* data;
  Size leading_dimension;
  Size batch_stride = 0;
};

/// A call whose matrices and factors are of one type, f32 or cf32.
struct Gemm {
  const char* routine;
  ElementType type;
  cublasHandle_t handle;
  cublasOperation_t op_a;
  cublasOperation_t op_b;
  Size m;
  Size n;
  Size k;
  const void* alpha;
  Matrix a;
  Matrix b;
  const void* beta;
  Matrix c;
  Size count = 1;
};

bool is_operation(cublasOperation_t op) { return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C; }

bool holds(const Matrix& matrix, Size rows) { return matrix.data != nullptr && matrix.leading_dimension >= rows; }

/// What is not is cuBLAS's to judge, and so is a product of nothing.
bool is_sound(const Gemm& g) {
  return g.handle != nullptr && is_operation(g.op_a) && is_operation(g.op_b) && g.m > 0 && g.n > 0 && g.k > 0 &&
         g.count > 0 && g.alpha != nullptr && g.beta != nullptr && holds(g.a, g.op_a == CUBLAS_OP_N ? g.m : g.k) &&
         holds(g.b, g.op_b == CUBLAS_OP_N ? g.k : g.n) && holds(g.c, g.m);
}

/// Why the handle's settings leave the product to cuBLAS; null if they do not.
const char* why_left(const Gemm& g, cudaStream_t& stream) {
  static constinit NextRoutine get_stream("cublasGetStream_v2");
  static constinit NextRoutine get_pointer_mode("cublasGetPointerMode_v2");
  static constinit NextRoutine get_math_mode("cublasGetMathMode");
  static constinit NextRoutine get_sm_count_target("cublasGetSmCountTarget");
  cublasPointerMode_t pointers{};
  cublasMath_t math{};
  int sm_count = 0;
  if (get_pointer_mode(g.handle, &pointers) != CUBLAS_STATUS_SUCCESS || pointers != CUBLAS_POINTER_MODE_HOST)
    return "factors in device memory";
  // How partial sums of narrower types may be kept says nothing of f32.
  if (get_math_mode(g.handle, &math) != CUBLAS_STATUS_SUCCESS ||
      (math & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) != CUBLAS_DEFAULT_MATH)
    return "another math mode";
  if (get_sm_count_target(g.handle, &sm_count) == CUBLAS_STATUS_SUCCESS && sm_count != 0) return "fewer SMs";
  return get_stream(g.handle, &stream) == CUBLAS_STATUS_SUCCESS ? nullptr : "no stream";
}

OperandLayout layout(const Gemm& g, cublasOperation_t op, const Matrix& matrix) {
  const bool is_plain = op == CUBLAS_OP_N;
  return {.row_stride = is_plain ? 1 : matrix.leading_dimension,
          .column_stride = is_plain ? matrix.leading_dimension : 1,
          .batch_stride = g.count == 1 ? 0 : matrix.batch_stride,
          .conjugate = op == CUBLAS_OP_C && is_complex(g.type)};
}

Scalar factor(const Gemm& g, const void* value) {
  if (is_complex(g.type)) return *static_cast<const std::complex<float>*>(value);
  return *static_cast<const float*>(value);
}

std::optional<cublasStatus_t> multiply(const Gemm& g) noexcept {
  if (!is_on) return std::nullopt;
  cudaStream_t stream = nullptr;
  if (const char* reason = is_sound(g) ? why_left(g, stream) : "empty, or with a bad argument") {
    say_forwarded(g.routine, reason);
    return std::nullopt;
  }
  return multiply(Product{.routine = g.routine,
                          .handle = g.handle,
                          .stream = stream,
                          .description = {.types = {g.type, g.type},
                                          .m = g.m,
                                          .n = g.n,
                                          .k = g.k,
                                          .a = layout(g, g.op_a, g.a),
                                          .b = layout(g, g.op_b, g.b),
                                          .c = layout(g, CUBLAS_OP_N, g.c),
                                          .batch_count = g.count},
                          .arguments = {.a = g.a.data,
                                        .b = g.b.data,
                                        .c = const_cast<void*>(g.c.data),
                                        .alpha = factor(g, g.alpha),
                                        .beta = factor(g, g.beta)}});
}

constexpr ElementType type_of(const float*) { return ElementType::f32; }
constexpr ElementType type_of(const cuComplex*) { return ElementType::cf32; }

/// The type of all three. Other types, and other ways to compute these (TF32, pedantic, emulated), are cuBLAS's.
std::optional<ElementType> type_of(const char* routine, cudaDataType a, cudaDataType b, cudaDataType c,
                                   cublasComputeType_t compute) {
  if (a == b && a == c && (a == CUDA_R_32F || a == CUDA_C_32F) && compute == CUBLAS_COMPUTE_32F)
    return a == CUDA_R_32F ? ElementType::f32 : ElementType::cf32;
  if (is_on) say_forwarded(routine, "other types");
  return std::nullopt;
}

}  // namespace
}  // namespace exactile::cublas

using exactile::cublas::Gemm;
using exactile::cublas::multiply;
using exactile::cublas::NextRoutine;
using exactile::cublas::type_of;

// Each with 32-bit and with 64-bit sizes.
#define EXACTILE_GEMM(name, Int, T)                                                                               \
  extern "C" EXACTILE_EXPORT cublasStatus_t name(                                                                 \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n, Int k, const T* alpha, \
      const T* a, Int lda, const T* b, Int ldb, const T* beta, T* c, Int ldc) {                                   \
    static constinit NextRoutine next(#name);                                                                     \
    const Gemm gemm{#name, type_of(a), handle, op_a, op_b, m, n, k, alpha, {a, lda}, {b, ldb}, beta, {c, ldc}};   \
    if (const auto status = multiply(gemm)) return *status;                                                       \
    return next(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                \
  }
EXACTILE_GEMM(cublasSgemm_v2, int, float)
EXACTILE_GEMM(cublasSgemm_v2_64, std::int64_t, float)
EXACTILE_GEMM(cublasCgemm_v2, int, cuComplex)
EXACTILE_GEMM(cublasCgemm_v2_64, std::int64_t, cuComplex)

#define EXACTILE_GEMM_BATCH(name, Int, Count, T)                                                                     \
  extern "C" EXACTILE_EXPORT cublasStatus_t name(                                                                    \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n, Int k, const T* alpha,    \
      const T* a, Int lda, long long a_step, const T* b, Int ldb, long long b_step, const T* beta, T* c, Int ldc,    \
      long long c_step, Count count) {                                                                               \
    static constinit NextRoutine next(#name);                                                                        \
    const Gemm gemm{#name, type_of(a),       handle, op_a, op_b, m, n, k, alpha, {a, lda, a_step}, {b, ldb, b_step}, \
                    beta,  {c, ldc, c_step}, count};                                                                 \
    if (const auto status = multiply(gemm)) return *status;                                                          \
    return next(handle, op_a, op_b, m, n, k, alpha, a, lda, a_step, b, ldb, b_step, beta, c, ldc, c_step, count);    \
  }
EXACTILE_GEMM_BATCH(cublasSgemmStridedBatched, int, int, float)
EXACTILE_GEMM_BATCH(cublasSgemmStridedBatched_64, std::int64_t, std::int64_t, float)
EXACTILE_GEMM_BATCH(cublasCgemmStridedBatched, int, int, cuComplex)
EXACTILE_GEMM_BATCH(cublasCgemmStridedBatched_64, std::int64_t, std::int64_t, cuComplex)

#define EXACTILE_GEMM_EX(name, Int)                                                                                  \
  extern "C" EXACTILE_EXPORT cublasStatus_t name(                                                                    \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n, Int k, const void* alpha, \
      const void* a, cudaDataType a_type, Int lda, const void* b, cudaDataType b_type, Int ldb, const void* beta,    \
      void* c, cudaDataType c_type, Int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {              \
    static constinit NextRoutine next(#name);                                                                        \
    const auto type = type_of(#name, a_type, b_type, c_type, compute);                                               \
    const Gemm gemm{#name,    type.value_or(exactile::ElementType::f32),                                             \
                    handle,   op_a,                                                                                  \
                    op_b,     m,                                                                                     \
                    n,        k,                                                                                     \
                    alpha,    {a, lda},                                                                              \
                    {b, ldb}, beta,                                                                                  \
                    {c, ldc}};                                                                                       \
    if (type)                                                                                                        \
      if (const auto status = multiply(gemm)) return *status;                                                        \
    return next(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, compute,   \
                algorithm);                                                                                          \
  }
EXACTILE_GEMM_EX(cublasGemmEx, int)
EXACTILE_GEMM_EX(cublasGemmEx_64, std::int64_t)

#define EXACTILE_GEMM_BATCH_EX(name, Int, Count)                                                                     \
  extern "C" EXACTILE_EXPORT cublasStatus_t name(                                                                    \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n, Int k, const void* alpha, \
      const void* a, cudaDataType a_type, Int lda, long long a_step, const void* b, cudaDataType b_type, Int ldb,    \
      long long b_step, const void* beta, void* c, cudaDataType c_type, Int ldc, long long c_step, Count count,      \
      cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {                                                     \
    static constinit NextRoutine next(#name);                                                                        \
    const auto type = type_of(#name, a_type, b_type, c_type, compute);                                               \
    const Gemm gemm{#name,                                                                                           \
                    type.value_or(exactile::ElementType::f32),                                                       \
                    handle,                                                                                          \
                    op_a,                                                                                            \
                    op_b,                                                                                            \
                    m,                                                                                               \
                    n,                                                                                               \
                    k,                                                                                               \
                    alpha,                                                                                           \
                    {a, lda, a_step},                                                                                \
                    {b, ldb, b_step},                                                                                \
                    beta,                                                                                            \
                    {c, ldc, c_step},                                                                                \
                    count};                                                                                          \
    if (type)                                                                                                        \
      if (const auto status = multiply(gemm)) return *status;                                                        \
    return next(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, a_step, b, b_type, ldb, b_step, beta, c, c_type, \
                ldc, c_step, count, compute, algorithm);                                                             \
  }
EXACTILE_GEMM_BATCH_EX(cublasGemmStridedBatchedEx, int, int)
EXACTILE_GEMM_BATCH_EX(cublasGemmStridedBatchedEx_64, std::int64_t, std::int64_t)

extern "C" EXACTILE_EXPORT cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  static constinit NextRoutine next("cublasDestroy_v2");
  exactile::cublas::forget(handle);
  return next(handle);
}
