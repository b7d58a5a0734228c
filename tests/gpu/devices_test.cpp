// SPDX-License-Identifier: Apache-2.0
// Host threads that compute on all devices at once; where there is one device, all on that one. Each device gives the
// bits that the first one gives, whichever device is current, and which one is does not change.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <thread>

#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

int cuda_device_count() {
  return static_cast<int>(std::ranges::count_if(
      devices(), [](const DeviceInfo& device) { return device.backend == "cuda" && device.available; }));
}

/// Kernels whose bits depend on no device, with a workspace and without.
const KernelOfType some_kernels[] = {{"simt_f32_64x64", {ElementType::f32, ElementType::f32}},
                                     {"simt_f64_64x64", {ElementType::f64, ElementType::f64}},
                                     {"cuda_register_blocked", {ElementType::f32, ElementType::f32}},
                                     {"sm80_f32_fp16x3_mma", {ElementType::f32, ElementType::f32}}};

std::vector<std::byte> computed_on(int device, const KernelOfType& kernel) {
  const Result<Context> context = Context::make("cuda", device);
  EXPECT_TRUE(context.ok()) << context.status().message();
  if (!context.ok()) return {};
  DeviceProduct product(context.value(), kernel, 130, 140, 1100);
  EXPECT_TRUE(product.plan()) << test_name(kernel);
  if (!product.plan()) return {};
  product.poison();
  const Status status = product.plan()->run(product.arguments(), context.value().execution());
  EXPECT_TRUE(status.ok()) << test_name(kernel) << " on device " << device << ": " << status.message();
  return product.result();
}

TEST(Devices, AllAtOnceGiveTheSameBits) {
  SKIP_WITHOUT_GPU();
  const int count = cuda_device_count();
  for (const KernelOfType& kernel : some_kernels) {
    const std::vector<std::byte> expected = computed_on(0, kernel);
    std::vector<std::jthread> callers;
    for (int t = 0; t < 2 * count; ++t)
      callers.emplace_back([&, device = t % count, current = (t + 1) % count] {
        ASSERT_EQ(cudaSetDevice(current), cudaSuccess);
        for (int run = 0; run < 5; ++run)
          EXPECT_EQ(computed_on(device, kernel), expected) << test_name(kernel) << " on device " << device;
        int after = -1;
        ASSERT_EQ(cudaGetDevice(&after), cudaSuccess);
        EXPECT_EQ(after, current);
      });
  }
}

TEST(Devices, TakeOperandsFromHostMemoryAtOnce) {
  SKIP_WITHOUT_GPU();
  const int count = cuda_device_count();
  constexpr std::int64_t n = 300;
  const std::vector<float> ones(static_cast<std::size_t>(n * n), 1.0f);
  std::vector<std::jthread> callers;
  for (int t = 0; t < 2 * count; ++t)
    callers.emplace_back([&, device = t % count] {
      std::vector<float> c(ones.size());
      const GemmDescription d = contiguous_case({ElementType::f32, ElementType::f32}, n, n, n).description;
      const Status status = gemm(d, {.a = ones.data(), .b = ones.data(), .c = c.data()},
                                 {.backend = "cuda", .kernel = "simt_f32_64x64", .device = device});
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(std::ranges::count(c, static_cast<float>(n)), n * n) << "device " << device;
    });
}

TEST(Devices, ThatDoNotExistAreRefusedByNumber) {
  SKIP_WITHOUT_GPU();
  const int count = cuda_device_count();
  const Status of_context = Context::make("cuda", count).status();
  EXPECT_EQ(of_context.code(), StatusCode::invalid_argument);
  EXPECT_EQ(of_context.message(), "device = " + std::to_string(count) + ": expected 0 to " + std::to_string(count - 1));
  const GemmDescription d = contiguous_case({ElementType::f32, ElementType::f32}, 8, 8, 8).description;
  EXPECT_FALSE(Plan::make(d, {.backend = "cuda", .device = count}).ok());
}

}  // namespace
}  // namespace exactile::test
