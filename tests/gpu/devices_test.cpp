// SPDX-License-Identifier: Apache-2.0
// Host threads that compute on all devices at once; where there is one device, all on that one. Each device gives the
// bits that the first one gives, whichever device is current, and which one is does not change.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "cuda/runtime/driver.hpp"
#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

/// All that there are have an index; those that are available are computed on.
struct CudaDevices {
  int count = 0;
  std::vector<int> available;
};

CudaDevices cuda_devices() {
  CudaDevices found;
  for (const DeviceInfo& device : devices()) {
    if (device.backend != Backend::cuda) continue;
    if (device.available) found.available.push_back(found.count);
    ++found.count;
  }
  return found;
}

/// Runs work(device, another of them or, where there is one, the same) on two host threads for each available device.
template <class Work>
void on_all_devices_at_once(const Work& work) {
  const std::vector<int> available = cuda_devices().available;
  std::vector<std::jthread> callers;
  for (std::size_t t = 0; t < 2 * available.size(); ++t)
    callers.emplace_back(work, available[t % available.size()], available[(t + 1) % available.size()]);
}

/// Kernels whose bits depend on no device, with a workspace and without.
const KernelOfType some_kernels[] = {
    {"simt_f32", {ElementType::f32, ElementType::f32}, Accuracy::standard, "BM=64 BN=64 SPLIT_K=1"},
    {"simt_f64", {ElementType::f64, ElementType::f64}},
    {"cuda_register_blocked", {ElementType::f32, ElementType::f32}},
    {"sm80_f32_bf16x6_mma", {ElementType::f32, ElementType::f32}}};

std::vector<std::byte> computed_on(int device, const KernelOfType& kernel) {
  const Result<Context> context = Context::make(Backend::cuda, device);
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
  for (const KernelOfType& kernel : some_kernels) {
    const std::vector<std::byte> expected = computed_on(cuda_devices().available.front(), kernel);
    on_all_devices_at_once([&](int device, int current) {
      ASSERT_EQ(cudaSetDevice(current), cudaSuccess);
      for (int run = 0; run < 5; ++run)
        EXPECT_EQ(computed_on(device, kernel), expected) << test_name(kernel) << " on device " << device;
      int after = -1;
      ASSERT_EQ(cudaGetDevice(&after), cudaSuccess);
      EXPECT_EQ(after, current);
    });
  }
}

/// A product of ones out of host memory.
void expect_product_of_ones(int device) {
  constexpr std::int64_t n = 300;
  const std::vector<float> ones(static_cast<std::size_t>(n * n), 1.0f);
  std::vector<float> c(ones.size());
  const GemmDescription d = contiguous_case({ElementType::f32, ElementType::f32}, n, n, n).description;
  const Status status = gemm(d, {.a = ones.data(), .b = ones.data(), .c = c.data()},
                             {.backend = Backend::cuda, .kernel = "simt_f32", .device = device});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(std::ranges::count(c, static_cast<float>(n)), n * n) << "device " << device;
}

TEST(Devices, TakeOperandsFromHostMemoryAtOnce) {
  SKIP_WITHOUT_GPU();
  on_all_devices_at_once([](int device, int /*current*/) { expect_product_of_ones(device); });
}

/// A context takes hundreds of megabytes of its device's memory, and a quarter of a second.
int contexts_on_devices_before(int end) {
  const auto state = cuda::driver_function<PFN_cuDevicePrimaryCtxGetState_v7000>("cuDevicePrimaryCtxGetState", 7000);
  int contexts = 0;
  for (int device = 0; device < end; ++device) {
    unsigned flags = 0;
    int is_active = 0;
    EXPECT_EQ(state(device, &flags, &is_active), CUDA_SUCCESS);
    contexts += is_active;
  }
  return contexts;
}

/// In a process that has used no device yet.
[[noreturn]] void use_last_device_alone() {
  const std::vector<int> available = cuda_devices().available;
  const int last = available.back();
  if (contexts_on_devices_before(cuda_devices().count) != 0) std::exit(2);
  static_cast<void>(computed_on(last, some_kernels[0]));
  expect_product_of_ones(last);
  if (contexts_on_devices_before(last + 1) != 1) std::exit(3);
  std::exit(::testing::Test::HasFailure() ? 4 : 0);
}

TEST(DevicesDeathTest, ThatNobodyAskedForHaveNoContext) {
  SKIP_WITHOUT_GPU();
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // what runs is another process, and runs this test alone
  EXPECT_EXIT(use_last_device_alone(), ::testing::ExitedWithCode(0), "");
}

TEST(Devices, ThatDoNotExistAreRefusedByNumber) {
  SKIP_WITHOUT_GPU();
  const int count = cuda_devices().count;
  const Status of_context = Context::make(Backend::cuda, count).status();
  EXPECT_EQ(of_context.code(), StatusCode::invalid_argument);
  EXPECT_EQ(of_context.message(), "device = " + std::to_string(count) + ": expected 0 to " + std::to_string(count - 1));
  const GemmDescription d = contiguous_case({ElementType::f32, ElementType::f32}, 8, 8, 8).description;
  EXPECT_FALSE(Plan::make(d, {.backend = Backend::cuda, .device = count}).ok());
}

}  // namespace
}  // namespace exactile::test
