// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "support/check_case.hpp"
#include "support/matrices.hpp"

namespace exactile::test {

inline constexpr GemmTypes f32_types{ElementType::f32, ElementType::f32};
inline constexpr GemmTypes f64_types{ElementType::f64, ElementType::f64};

/// Every available kernel with every type, and the planner's choice.
[[nodiscard]] inline std::vector<KernelOfType> everything() {
  std::vector<KernelOfType> all = planner_for_all_types();
  for (KernelOfType& kernel : available_kernels()) all.push_back(std::move(kernel));
  return all;
}

/// Runs the product; answers false where the kernel refuses it, which is no failure.
[[nodiscard]] inline bool runs(const GemmDescription& description, const GemmArguments& arguments,
                               const KernelOfType& kernel) {
  const Status status = gemm(description, arguments, {.kernel = kernel.kernel, .accuracy = kernel.accuracy});
  if (status.code() == StatusCode::unsupported && !kernel.kernel.empty()) return false;
  EXPECT_TRUE(status.ok()) << test_name(kernel) << ": " << status.message();
  return status.ok();
}

}  // namespace exactile::test
