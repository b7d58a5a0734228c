// SPDX-License-Identifier: Apache-2.0
// The bits of a row of C do not depend on which other rows the product has.
#include <algorithm>
#include <initializer_list>

#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

constexpr std::int64_t columns = 256;

/// The first rows of that product, by a plan for them alone.
std::vector<std::byte> first_rows(const DeviceProduct& product, const KernelOfType& kernel, std::int64_t rows,
                                  std::int64_t terms, const Context& context) {
  const GemmDescription d = contiguous_case(kernel.types, rows, columns, terms).description;
  const Result<Plan> plan = Plan::make(
      d, {.backend = "cuda", .kernel = kernel.kernel, .accuracy = kernel.accuracy, .memory = Memory::device});
  if (!plan.ok()) {
    EXPECT_EQ(plan.status().code(), StatusCode::unsupported) << plan.status().message();
    return {};
  }
  // The one exception of docs/accuracy.md.
  if (kernel.kernel == "sm90_f32_fp16x3_wgmma" && plan.value().summary().blocking != product.plan()->summary().blocking)
    return {};
  const Status status = plan.value().run(product.arguments(), context.execution());
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::byte> bytes = product.result();
  bytes.resize(static_cast<std::size_t>(rows * columns * size_in_bytes(kernel.types.output)));
  return bytes;
}

/// How many numbers of rows were compared with all of them.
int compare_rows(const KernelOfType& kernel, std::int64_t all_rows, std::initializer_list<std::int64_t> fewer,
                 std::int64_t terms, const Context& context) {
  DeviceProduct product(context, kernel, all_rows, columns, terms);
  if (!product.plan()) return 0;
  product.poison();
  const Status status = product.plan()->run(product.arguments(), context.execution());
  EXPECT_TRUE(status.ok()) << status.message();
  const std::vector<std::byte> all = product.result();
  int compared = 0;
  for (const std::int64_t rows : fewer) {
    product.poison();
    const std::vector<std::byte> few = first_rows(product, kernel, rows, terms, context);
    if (few.empty()) continue;
    EXPECT_TRUE(std::equal(few.begin(), few.end(), all.begin()))
        << kernel.kernel << ", " << to_string(kernel.types) << ": " << rows << " rows differ from the same of "
        << all_rows;
    ++compared;
  }
  return compared;
}

// On an H200, 17152 rows leave 67 tiles of 256 x 256 for 66 clusters of two multiprocessors, which share the last ones;
// 16896 rows leave 66. Some kernels do not divide a K of 200, but divide one of 520.
TEST(RowsOnDevice, BitsDoNotDependOnTheOtherRows) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make("cuda");
  ASSERT_TRUE(context.ok()) << context.status().message();
  int compared = 0;
  for (const KernelOfType& kernel : cuda_kernels()) {
    compared += compare_rows(kernel, 17152, {16896, 700, 40}, 520, context.value());
    compared += compare_rows(kernel, 1500, {129, 40}, 200, context.value());
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace exactile::test
