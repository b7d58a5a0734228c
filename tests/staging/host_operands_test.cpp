// SPDX-License-Identifier: Apache-2.0
// Operands in host memory on real devices: the same bits as with operands in device memory, where all sums are exact
// and where they are reproducible. Skips where there is none.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "exactile/exactile.hpp"
#include "support/matrices.hpp"

namespace exactile::test {
namespace {

struct DeviceKernel {
  std::string name;
  Backend backend;
  GemmTypes types;
};

/// Every kernel that takes operands in device memory, with every type it has.
std::vector<DeviceKernel> device_kernels() {
  std::vector<DeviceKernel> found;
  for (const KernelInfo& kernel : kernels()) {
    if (!kernel.available || kernel.backend != Backend::cuda) continue;  // OpenCL's have their own way with host memory
    for (const GemmTypes& types : kernel.types) found.push_back({kernel.name, kernel.backend, types});
  }
  return found;
}

std::int64_t bytes(std::int64_t elements, ElementType type) { return elements * size_in_bytes(type); }

/// C of the same product with all operands in device memory; empty where the kernel refuses it, and for no other
/// reason.
std::vector<std::byte> on_device(const DeviceKernel& kernel, const GemmDescription& d, GemmOptions options,
                                 const GemmArguments& host) {
  options.memory = Memory::device;
  const Result<Plan> plan = Plan::make(d, options);
  if (!plan.ok()) {
    EXPECT_EQ(plan.status().code(), StatusCode::unsupported) << kernel.name << ": " << plan.status().message();
    return {};
  }
  const Result<Context> context = Context::make(kernel.backend);
  EXPECT_TRUE(context.ok()) << context.status().message();
  const auto moved = [&](const void* data, std::int64_t size) {
    Result<DeviceMemory> memory = context.value().allocate(size);
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    EXPECT_TRUE(memory.value().upload(data, size).ok());
    return std::move(memory).value();
  };
  const DeviceMemory a = moved(host.a, bytes(d.batch_count * d.m * d.k, d.types.input));
  const DeviceMemory b = moved(host.b, bytes(d.batch_count * d.k * d.n, d.types.input));
  const std::int64_t c_bytes = bytes(d.batch_count * d.m * d.n, d.types.output);
  const DeviceMemory c = moved(host.c, c_bytes);
  const Status status = plan.value().run({.a = a.at(), .b = b.at(), .c = c.at()}, context.value().execution());
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::byte> result(static_cast<std::size_t>(c_bytes));
  EXPECT_TRUE(c.download(result.data(), c_bytes).ok());
  return result;
}

/// The first kernel that takes the product.
DeviceKernel willing_kernel(std::int64_t m, std::int64_t n, std::int64_t k) {
  for (const DeviceKernel& kernel : device_kernels())
    if (Plan::make(contiguous(kernel.types, m, n, k), {.kernel = kernel.name, .memory = Memory::device}).ok())
      return kernel;
  ADD_FAILURE() << "no kernel takes " << m << "x" << n << "x" << k;
  return {};
}

void fill_c(Matrices& matrices, int byte) { std::memset(matrices.arguments().c, byte, matrices.c().size()); }

/// Whether the kernel takes the product. What C holds is lost: each result begins with bytes of its own, so that an
/// element that nobody wrote is seen, and not the right one of the kernel before.
bool expect_same_bits(const DeviceKernel& kernel, const GemmDescription& d, Matrices& matrices,
                      bool reproducible = false) {
  GemmOptions options{.kernel = kernel.name, .reproducible = reproducible};
  std::vector<std::byte> expected;
  for (const Accuracy accuracy : {Accuracy::standard, Accuracy::reduced, Accuracy::correctly_rounded}) {
    options.accuracy = accuracy;
    fill_c(matrices, 0xff);
    expected = on_device(kernel, d, options, matrices.arguments());
    if (!expected.empty()) break;
  }
  if (expected.empty()) return false;
  const std::string what = kernel.name + " " + to_string(d.types) + " " + std::to_string(d.m) + "x" +
                           std::to_string(d.n) + "x" + std::to_string(d.k) + " batch " + std::to_string(d.batch_count) +
                           (reproducible ? " reproducible" : "");
  fill_c(matrices, 0x55);
  const Status status = gemm(d, matrices.arguments(), options);
  EXPECT_TRUE(status.ok()) << what << ": " << status.message();
  EXPECT_TRUE(!status.ok() || matrices.c() == expected) << what;
  return true;
}

struct Shape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t batch = 1;
};

constexpr Shape shapes[] = {
    {37, 41, 53},        // one piece
    {1001, 903, 257},    // one tile, through the ring
    {2011, 1603, 65},    // several tiles
    {64, 48, 40, 3000},  // groups of products
    // For kernels that want parts of K, few rows, few columns, few columns and a short K, few of both, a single term, K
    // in chunks.
    {256, 256, 512},
    {3, 208, 704},
    {200, 3, 704},
    {200, 3, 64},
    {20, 20, 20},
    {400, 300, 1},
    {136, 144, 4200},
};

class HostOperands : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_kernels().empty()) GTEST_SKIP() << "no device with memory of its own";
  }
};

/// Small integers: every order of sums gives the exact sum, and whatever a copy loses shows. Elements take longer to
/// make than products, so that the kernels of the same types share them.
TEST_F(HostOperands, GiveTheBitsOfDeviceOperandsWhereSumsAreExact) {
  for (const GemmTypes& types : all_gemm_types()) {
    std::map<std::string, int> products;
    for (const Shape& s : shapes) {
      const GemmDescription d = contiguous(types, s.m, s.n, s.k, s.batch);
      Matrices matrices(d, 1, verification::Fill::small_integers);
      for (const DeviceKernel& kernel : device_kernels())
        if (kernel.types == types) products[kernel.name] += expect_same_bits(kernel, d, matrices) ? 1 : 0;
    }
    for (const auto& [kernel, count] : products)
      EXPECT_GT(count, 0) << kernel << " " << to_string(types) << " refused all products";
  }
}

TEST_F(HostOperands, GiveTheBitsOfDeviceOperandsWhereReproducible) {
  int products = 0;
  for (const GemmTypes& types : all_gemm_types()) {
    if (!is_floating(types.input) || is_complex(types.input)) continue;
    for (const Shape& s : shapes) {
      const GemmDescription d = contiguous(types, s.m, s.n, s.k, s.batch);
      Matrices matrices(d, 1);
      for (const DeviceKernel& kernel : device_kernels())
        if (kernel.types == types) products += expect_same_bits(kernel, d, matrices, true) ? 1 : 0;
    }
  }
  EXPECT_GT(products, 0);
}

TEST_F(HostOperands, ComeFromSeveralThreadsAtOnce) {
  const DeviceKernel kernel = willing_kernel(100, 90, 30);
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&kernel, t] {
      for (int round = 0; round < 5; ++round) {
        for (const GemmDescription& d :
             {contiguous(kernel.types, 100 + t, 90, 30), contiguous(kernel.types, 2000 + t, 1500, 40)}) {
          Matrices matrices(d, 1, verification::Fill::small_integers);
          EXPECT_TRUE(expect_same_bits(kernel, d, matrices));
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(HostOperands, AreNotDeviceMemory) {
  const DeviceKernel kernel = willing_kernel(8, 8, 8);
  const GemmDescription d = contiguous(kernel.types, 8, 8, 8);
  Matrices matrices(d, 1);
  const Result<Context> context = Context::make(kernel.backend);
  ASSERT_TRUE(context.ok());
  const Result<DeviceMemory> memory = context.value().allocate(4096);
  ASSERT_TRUE(memory.ok());
  GemmArguments arguments = matrices.arguments();
  arguments.b = memory.value().at();
  const Status status = gemm(d, arguments, {.kernel = kernel.name});
  EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.message();
}

}  // namespace
}  // namespace exactile::test
