// SPDX-License-Identifier: Apache-2.0
// A libcublas.so.13 that computes nothing: it prints what it is called with, and answers what it is told to.
#include <cublas_api.h>

#include <cstdint>
#include <cstdio>
#include <type_traits>

extern "C" {
int fake_status = 0;
int fake_pointer_mode = CUBLAS_POINTER_MODE_HOST;
int fake_math_mode = CUBLAS_DEFAULT_MATH;
int fake_sm_count = 0;
void* fake_stream = nullptr;
}

namespace {

template <class T>
void print(T value) {
  if constexpr (std::is_pointer_v<T>)
    std::printf(" %llx", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(value)));
  else
    std::printf(" %lld", static_cast<long long>(value));
}

template <class... Args>
cublasStatus_t called(const char* name, Args... arguments) {
  std::printf("%s", name);
  (print(arguments), ...);
  std::printf("\n");
  std::fflush(stdout);
  return static_cast<cublasStatus_t>(fake_status);
}

}  // namespace

extern "C" {

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t, cublasPointerMode_t* mode) {
  *mode = static_cast<cublasPointerMode_t>(fake_pointer_mode);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMathMode(cublasHandle_t, cublasMath_t* mode) {
  *mode = static_cast<cublasMath_t>(fake_math_mode);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t, int* count) {
  *count = fake_sm_count;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t, cudaStream_t* stream) {
  *stream = static_cast<cudaStream_t>(fake_stream);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) { return called("cublasDestroy_v2", handle); }

#define FAKE_GEMM(name, Int, T)                                                                                 \
  cublasStatus_t name(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,        \
                      const T* alpha, const T* a, Int lda, const T* b, Int ldb, const T* beta, T* c, Int ldc) { \
    return called(#name, h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                              \
  }
FAKE_GEMM(cublasSgemm_v2, int, float)
FAKE_GEMM(cublasSgemm_v2_64, std::int64_t, float)
FAKE_GEMM(cublasCgemm_v2, int, cuComplex)
FAKE_GEMM(cublasCgemm_v2_64, std::int64_t, cuComplex)

#define FAKE_GEMM_BATCH(name, Int, T)                                                                       \
  cublasStatus_t name(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,    \
                      const T* alpha, const T* a, Int lda, long long sa, const T* b, Int ldb, long long sb, \
                      const T* beta, T* c, Int ldc, long long sc, Int count) {                              \
    return called(#name, h, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, count);       \
  }
FAKE_GEMM_BATCH(cublasSgemmStridedBatched, int, float)
FAKE_GEMM_BATCH(cublasSgemmStridedBatched_64, std::int64_t, float)
FAKE_GEMM_BATCH(cublasCgemmStridedBatched, int, cuComplex)
FAKE_GEMM_BATCH(cublasCgemmStridedBatched_64, std::int64_t, cuComplex)

#define FAKE_GEMM_EX(name, Int)                                                                                    \
  cublasStatus_t name(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,           \
                      const void* alpha, const void* a, cudaDataType at, Int lda, const void* b, cudaDataType bt,  \
                      Int ldb, const void* beta, void* c, cudaDataType ct, Int ldc, cublasComputeType_t compute,   \
                      cublasGemmAlgo_t algorithm) {                                                                \
    return called(#name, h, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, compute, algorithm); \
  }
FAKE_GEMM_EX(cublasGemmEx, int)
FAKE_GEMM_EX(cublasGemmEx_64, std::int64_t)

#define FAKE_GEMM_BATCH_EX(name, Int)                                                                              \
  cublasStatus_t name(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, Int m, Int n, Int k,           \
                      const void* alpha, const void* a, cudaDataType at, Int lda, long long sa, const void* b,     \
                      cudaDataType bt, Int ldb, long long sb, const void* beta, void* c, cudaDataType ct, Int ldc, \
                      long long sc, Int count, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {          \
    return called(#name, h, ta, tb, m, n, k, alpha, a, at, lda, sa, b, bt, ldb, sb, beta, c, ct, ldc, sc, count,   \
                  compute, algorithm);                                                                             \
  }
FAKE_GEMM_BATCH_EX(cublasGemmStridedBatchedEx, int)
FAKE_GEMM_BATCH_EX(cublasGemmStridedBatchedEx_64, std::int64_t)

}  // extern "C"
