// SPDX-License-Identifier: Apache-2.0
// Errors surface where they belong: in the call that failed, with its name, and in no later one.
#include <cuda_runtime_api.h>

#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

TEST(Errors, OfTheCallersOwnCallsAreNotTheRuns) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  for (const KernelOfType& kernel : cuda_kernels()) {
    int runs = 0;
    for (const auto& [m, n, k] : shapes_of_all_kinds) {
      if (runs > 0) break;
      const DeviceProduct product(context.value(), kernel, m, n, k);
      if (!product.plan()) continue;
      ASSERT_NE(cudaSetDevice(-1), cudaSuccess);
      ASSERT_NE(cudaPeekAtLastError(), cudaSuccess) << "nothing is left unread";
      const Status status = product.plan()->run(product.arguments(), context.value().execution());
      EXPECT_TRUE(status.ok()) << test_name(kernel) << ": " << status.message();
      ++runs;
    }
    EXPECT_GT(runs, 0) << test_name(kernel) << " took none of the products";
  }
  EXPECT_TRUE(context.value().synchronize().ok());
}

TEST(Errors, NameTheCallAndAreForgottenOnceSaid) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  constexpr std::int64_t more_than_there_is = std::int64_t{1} << 50;
  const Status status = context.value().allocate(more_than_there_is).status();
  EXPECT_EQ(status.code(), StatusCode::out_of_memory);
  EXPECT_NE(status.message().find("cudaMalloc of 1125899906842624 bytes"), std::string_view::npos) << status.message();
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(Errors, OfArgumentsAreFoundBeforeTheDeviceIs) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  Result<DeviceMemory> memory = context.value().allocate(64);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_EQ(memory.value().upload(nullptr, 64).message(), "from = null: expected 64 bytes of host memory");
  EXPECT_EQ(memory.value().download(nullptr, 64).message(), "to = null: expected 64 bytes of host memory");
  EXPECT_TRUE(memory.value().upload(nullptr, 0).ok());
  EXPECT_EQ(memory.value().upload(&memory, 65).code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace exactile::test
