// SPDX-License-Identifier: Apache-2.0
// The bits of a row of C do not depend on which other rows the product has.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

/// Kernels that cannot be pinned, or not in all: how K is divided they choose anew for other rows. What is compared are
/// plans that divide it alike.
bool chooses_anew(const KernelOfType& kernel) {
  return kernel.kernel == "sm90_f32_fp16x3_wgmma" || kernel.kernel.starts_with("complex_");
}

/// The first rows of that product, by a plan for them alone.
std::vector<std::byte> first_rows(const DeviceProduct& product, const KernelOfType& kernel, const Shape& shape,
                                  const Context& context) {
  const GemmDescription d = contiguous_case(kernel.types, shape.m, shape.n, shape.k).description;
  const Result<Plan> plan = Plan::make(d, {.backend = Backend::cuda,
                                           .kernel = kernel.kernel,
                                           .accuracy = kernel.accuracy,
                                           .memory = Memory::device,
                                           .parameters = kernel.parameters});
  if (!plan.ok()) {
    EXPECT_EQ(plan.status().code(), StatusCode::unsupported) << plan.status().message();
    return {};
  }
  if (chooses_anew(kernel) && plan.value().summary().blocking != product.plan()->summary().blocking) return {};
  const Status status = plan.value().run(product.arguments(), context.execution());
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::byte> bytes = product.result();
  bytes.resize(static_cast<std::size_t>(shape.m * shape.n * size_in_bytes(kernel.types.output)));
  return bytes;
}

/// How many numbers of rows were compared with all of them.
int compare_rows(const KernelOfType& kernel, const Shape& shape, std::span<const std::int64_t> fewer,
                 const Context& context) {
  DeviceProduct product(context, kernel, shape.m, shape.n, shape.k);
  if (!product.plan()) return 0;
  product.poison();
  const Status status = product.plan()->run(product.arguments(), context.execution());
  EXPECT_TRUE(status.ok()) << status.message();
  const std::vector<std::byte> all = product.result();
  int compared = 0;
  for (const std::int64_t rows : fewer) {
    product.poison();
    const std::vector<std::byte> few = first_rows(product, kernel, {rows, shape.n, shape.k}, context);
    if (few.empty()) continue;
    EXPECT_TRUE(std::equal(few.begin(), few.end(), all.begin()))
        << test_name(kernel) << ": " << rows << " rows differ from the same of " << shape.m << ", n = " << shape.n
        << ", k = " << shape.k;
    ++compared;
  }
  return compared;
}

/// How a kernel is pinned. gemv, sm90_f64_mma, the sm80 family and simt's small tiles divide K anew for other rows;
/// gemv's tiles have 32 columns where K is contiguous, 16 where many sums are wide, and as many as 32 lanes load where
/// N is.
std::vector<std::string> pins_of(const KernelOfType& kernel) {
  if ((kernel.kernel == "sm90_f64_mma" && kernel.parameters.find("CLUSTER_K=0") != std::string::npos) ||
      kernel.kernel == "sm80_bf16_mma" || kernel.kernel == "sm80_f16_mma" ||
      (kernel.kernel.starts_with("simt_") &&
       (kernel.parameters.find("BM=32 ") != std::string::npos || kernel.parameters.find("BM=8 ") != std::string::npos)))
    return {kernel.parameters + " SPLIT_K=1", kernel.parameters + " SPLIT_K=2"};
  if (kernel.kernel != "gemv") return {kernel.parameters};
  const std::int64_t columns = 32 * std::min<std::int64_t>(8, 16 / size_in_bytes(kernel.types.input));
  return {"BN=" + std::to_string(columns) + " SPLIT_K=2", "BN=64 SPLIT_K=2", "BN=32 SPLIT_K=2", "BN=16 SPLIT_K=2"};
}

struct Rows {
  Shape all;
  std::vector<std::int64_t> fewer;
};

/// How many numbers of rows were compared, of all products and pins.
int compare_all(KernelOfType kernel, std::span<const Rows> products, const Context& context) {
  int compared = 0;
  for (const std::string& pin : pins_of(kernel)) {
    kernel.parameters = pin;
    for (const auto& [all, fewer] : products) compared += compare_rows(kernel, all, fewer, context);
  }
  return compared;
}

// On an H200, 17152 rows leave 67 tiles of 256 x 256 for 66 clusters of two SMs, which share the last ones; 16896 rows
// leave 66. Some kernels do not divide a K of 200, but divide one of 520. Small tiles of f32 pack B for 700 rows of 257
// columns, and not for 40 (see division_test.cpp).
TEST(RowsOnDevice, BitsDoNotDependOnTheOtherRows) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const Rows some[] = {
      {{17152, 256, 520}, {16896, 700, 40}}, {{1500, 256, 200}, {129, 40}}, {{700, 257, 520}, {129, 40}}};
  int compared = 0;
  for (const KernelOfType& kernel : cuda_kernels()) compared += compare_all(kernel, some, context.value());
  EXPECT_GT(compared, 0);
}

// Kernels for few rows, few columns, few of both or one term take none of the products above.
TEST(RowsOnDevice, BitsOfFewDoNotDependOnTheOthersEither) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const Rows some[] = {{{129, 256, 520}, {128, 65, 40}}, {{16, 64, 2100}, {11, 5, 1}},    {{4, 64, 2100}, {3, 2, 1}},
                       {{300, 3, 700}, {299, 129, 40}},  {{300, 20, 60}, {299, 129, 40}}, {{20, 24, 25}, {13, 5, 1}},
                       {{300, 256, 1}, {299, 129, 40}},  {{130, 64, 4200}, {128, 65, 40}}};
  for (const KernelOfType& kernel : cuda_kernels())
    EXPECT_GT(compare_all(kernel, some, context.value()), 0) << test_name(kernel) << " took none of the products";
}

}  // namespace
}  // namespace exactile::test
