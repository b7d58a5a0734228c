// SPDX-License-Identifier: Apache-2.0
// CUDA's narrow floats are elements as the library's own are, on the processor too.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include "exactile/gemm.hpp"
#include "exactile/interop/cuda.hpp"

namespace exactile::test {
namespace {

template <class In, class Out>
void expect_product() {
  const In a[] = {In(1.0F), In(2.0F), In(3.0F)}, b[] = {In(2.0F), In(0.5F), In(-1.0F)};
  Out c[1] = {Out(9.0F)};
  const Status status = gemm(MatrixView(a, 1, 3), MatrixView(b, 3, 1), MatrixView(c, 1, 1),
                             {.alpha = 2, .options = {.backend = Backend::cpu}});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(static_cast<float>(c[0]), 0);
}

TEST(CudaTypes, AreMultiplied) {
  expect_product<__half, __half>();
  expect_product<__half, float>();
  expect_product<__nv_bfloat16, __nv_bfloat16>();
  expect_product<__nv_bfloat16, float>();
  expect_product<__nv_fp8_e4m3, float>();
  expect_product<__nv_fp8_e5m2, __nv_bfloat16>();
}

}  // namespace
}  // namespace exactile::test
