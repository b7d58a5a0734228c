// SPDX-License-Identifier: Apache-2.0
// A libcublasLt.so.13 that computes nothing. Its descriptors are maps of what was set; what was not is unknown to it.
#include <cublasLt.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

namespace {

using Descriptor = std::map<int, std::vector<char>>;

cublasStatus_t get(void* descriptor, int which, void* buffer, std::size_t bytes, std::size_t* written) {
  const Descriptor& values = *static_cast<Descriptor*>(descriptor);
  const auto found = values.find(which);
  if (found == values.end() || found->second.size() != bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(buffer, found->second.data(), bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

void* fake_descriptor() { return new Descriptor; }
void fake_set(void* descriptor, int which, const void* value, std::size_t bytes) {
  const char* const first = static_cast<const char*>(value);
  (*static_cast<Descriptor*>(descriptor))[which].assign(first, first + bytes);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t which,
                                              void* buffer, std::size_t bytes, std::size_t* written) {
  return get(descriptor, which, buffer, bytes, written);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t descriptor,
                                                cublasLtMatrixLayoutAttribute_t which, void* buffer, std::size_t bytes,
                                                std::size_t* written) {
  return get(descriptor, which, buffer, bytes, written);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  std::printf("cublasLtMatmul");
  for (const void* argument :
       {static_cast<const void*>(handle), static_cast<const void*>(operation), alpha, a,
        static_cast<const void*>(a_layout), b, static_cast<const void*>(b_layout), beta, c,
        static_cast<const void*>(c_layout), static_cast<const void*>(d), static_cast<const void*>(d_layout),
        static_cast<const void*>(algorithm), static_cast<const void*>(workspace),
        reinterpret_cast<const void*>(workspace_bytes), static_cast<const void*>(stream)})
    std::printf(" %llx", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(argument)));
  std::printf("\n");
  std::fflush(stdout);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t) {
  std::puts("cublasLtDestroy");
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
