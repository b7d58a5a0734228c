// SPDX-License-Identifier: Apache-2.0
/// \file A product whose operands lie on the GPU, for tests that look at how it runs rather than at its value.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "exactile/exactile.hpp"
#include "support/check_case.hpp"

namespace exactile::test {

/// Why there is no GPU to test on; empty if there is one.
[[nodiscard]] std::string why_no_gpu();

/// At the beginning of every test here.
#define SKIP_WITHOUT_GPU() \
  if (const std::string why = ::exactile::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << "no device: " << why

/// Every kernel of the CUDA backend that can run here, with each of its types; of one with configurations all of these,
/// pinned, each with one of its types.
[[nodiscard]] std::vector<KernelOfType> cuda_kernels();

struct Shape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

/// Of every kind that some kernel is for: sizes that leave remainders, 16-fold ones that aligned paths take, K long
/// enough for parts and for chunks, few rows, few columns, few of both, one term. Every kernel takes at least one.
inline constexpr Shape shapes_of_all_kinds[] = {{130, 132, 130}, {256, 256, 256}, {130, 132, 520},
                                                {3, 200, 700},   {200, 3, 700},   {200, 3, 60},
                                                {20, 20, 20},    {40, 30, 1},     {130, 132, 4200}};

/// Row-major, contiguous, normal numbers in A and B; operands and result in device memory of their own.
class DeviceProduct {
 public:
  /// Fails the test where the memory cannot be had. Has none where the kernel refuses the product.
  DeviceProduct(const Context& context, const KernelOfType& kernel, std::int64_t m, std::int64_t n, std::int64_t k);

  /// Nothing where the kernel refuses the product.
  [[nodiscard]] const std::optional<Plan>& plan() const { return plan_; }
  [[nodiscard]] GemmArguments arguments() const { return {.a = a_->at(), .b = b_->at(), .c = c_->at()}; }
  /// NaN in C, or -1.
  void poison() { fill(0xff); }
  /// That byte all over C.
  void fill(int byte) { ASSERT_TRUE(c_->fill_bytes(byte).ok()); }
  /// The bytes of C, after all work of the context.
  [[nodiscard]] std::vector<std::byte> result() const;

 private:
  std::optional<Plan> plan_;
  std::optional<DeviceMemory> a_, b_, c_;
};

}  // namespace exactile::test
