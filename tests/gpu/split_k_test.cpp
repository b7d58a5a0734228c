// SPDX-License-Identifier: Apache-2.0
// Split-K whose partial sums are added by the blocks that formed them: the bits are the same however many SMs there
// are. Where they are few each cluster sums several slices, quits most tiles and finishes others' shares.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "cuda/kernels/kernels.hpp"
#include "cuda/runtime/device.hpp"
#include "gpu/device_product.hpp"
#include "support/matrices.hpp"

namespace exactile::test {
namespace {

struct PartsCase {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t batch;
  int split_k;
};
/// In the last one a part takes longer to sum than a cluster waits for others.
constexpr PartsCase cases[] = {{1023, 1025, 1021, 1, 3}, {1280, 1280, 700, 1, 2}, {513, 700, 2000, 1, 7},
                               {200, 136, 4200, 1, 16},  {130, 257, 900, 3, 3},   {60, 1, 600, 1, 2},
                               {60, 1, 131072, 1, 16}};

/// Normal numbers; a row of tiny ones whose sums need fix-up, an infinite element, and a row of zeros.
std::vector<float> elements(std::int64_t lines, std::int64_t length, std::int64_t next_line, std::int64_t next,
                            unsigned seed) {
  std::vector<float> x(static_cast<std::size_t>(lines * length));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (float& e : x) e = normal(random);
  const auto at = [&](std::int64_t line, std::int64_t i) -> float& {
    return x[static_cast<std::size_t>(line * next_line + i * next)];
  };
  if (lines < 30) return x;
  for (std::int64_t i = 1; i < length; ++i) at(17, i) = std::ldexp(at(17, i), -30);
  at(21, length / 2) = std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < length; ++i) at(25, i) = 0;
  return x;
}

class PartsProduct {
 public:
  PartsProduct(const Context& context, const PartsCase& s, bool does_everything)
      : case_(s),
        description_(contiguous({ElementType::f32, ElementType::f32}, s.m, s.n, s.k, s.batch)),
        before_(elements(s.batch * s.m, s.n, s.n, 1, 3)),
        a_(upload(context, elements(s.batch * s.m, s.k, s.k, 1, 1))),
        b_(upload(context, elements(s.n, s.batch * s.k, 1, s.n, 2))),
        c_(upload(context, before_)) {
    arguments_ = {.a = a_.at(), .b = b_.at(), .c = c_.at()};
    if (!does_everything) return;
    description_.bias = Bias::per_column;
    description_.activation = Activation::relu;
    arguments_.alpha = 2;
    arguments_.beta = -3;
    arguments_.bias = arguments_.b;  // numbers as good as any
  }

  /// C, computed as on a device of so many SMs.
  [[nodiscard]] std::vector<float> run(const Context& context, cuda::Device device, int sm_count) {
    device.sm_count = sm_count;
    const auto product = cuda::sm90_f32_fp16x3_wgmma.make({.description = description_, .memory = Memory::device},
                                                          device, {.split_k = case_.split_k});
    EXPECT_NE((product->blocking() + " ").find("SPLIT_K=" + std::to_string(case_.split_k) + " "), std::string::npos)
        << product->blocking();
    Result<DeviceMemory> workspace = context.allocate(product->workspace_bytes());
    EXPECT_TRUE(workspace.ok()) << workspace.status().message();
    const auto bytes = static_cast<std::int64_t>(before_.size() * sizeof(float));
    EXPECT_TRUE(workspace.value().fill_bytes(0xff).ok() && c_.upload(before_.data(), bytes).ok());
    EXPECT_TRUE(context.synchronize().ok());
    const Status status = product->launch({.arguments = arguments_, .workspace = workspace.value().at()});
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<float> c(before_.size());
    EXPECT_TRUE(c_.download(c.data(), bytes).ok());
    return c;
  }

 private:
  [[nodiscard]] static DeviceMemory upload(const Context& context, const std::vector<float>& x) {
    const auto bytes = static_cast<std::int64_t>(x.size() * sizeof(float));
    Result<DeviceMemory> memory = context.allocate(bytes);
    EXPECT_TRUE(memory.ok() && memory.value().upload(x.data(), bytes).ok());
    return std::move(memory.value());
  }

  PartsCase case_;
  GemmDescription description_;
  GemmArguments arguments_;
  std::vector<float> before_;
  DeviceMemory a_, b_, c_;
};

TEST(PartSums, HaveTheSameBitsOnAnyNumberOfMultiprocessors) {
  SKIP_WITHOUT_GPU();
  const cuda::Device& device = cuda::devices().front();
  if (device.compute_capability != 90) GTEST_SKIP() << "needs compute capability 9.0";
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  ASSERT_EQ(cudaSetDevice(device.index), cudaSuccess);
  for (const PartsCase& s : cases)
    for (const bool does_everything : {false, true}) {
      PartsProduct product(context.value(), s, does_everything);
      const std::vector<float> expected = product.run(context.value(), device, device.sm_count);
      for (const int sm_count : {2, 12, 50}) {
        const std::vector<float> c = product.run(context.value(), device, sm_count);
        EXPECT_EQ(std::memcmp(c.data(), expected.data(), c.size() * sizeof(float)), 0)
            << s.m << " x " << s.n << " x " << s.k << " on " << sm_count << " SMs";
      }
    }
}

}  // namespace
}  // namespace exactile::test
