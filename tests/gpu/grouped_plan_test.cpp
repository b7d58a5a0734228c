// SPDX-License-Identifier: Apache-2.0
// Which grouped products CUDA takes, in which configuration, and why it refuses the others: decided on the host.
#include <gtest/gtest.h>

#include "cuda/grouped.hpp"

namespace exactile::test {
namespace {

constexpr cuda::Device h200{.compute_capability = 90, .sm_count = 132, .memory_bytes = std::int64_t{141} << 30};
constexpr GemmTypes bf16{ElementType::bf16, ElementType::bf16};

/// Contiguous rows, and weights as models have them.
GroupedDescription experts(std::int64_t groups, std::int64_t rows, std::int64_t n, std::int64_t k,
                           GemmTypes types = bf16) {
  return {.types = types,
          .groups = groups,
          .total_rows = rows,
          .n = n,
          .k = k,
          .a = {.row_stride = k},
          .b = {.row_stride = 1, .column_stride = k, .batch_stride = n * k},
          .c = {.row_stride = n}};
}

std::string blocking_of(const GroupedDescription& d, const std::string& parameters = "") {
  const auto made = cuda::make_grouped(d, {.parameters = parameters}, h200);
  return made.ok() ? made.value()->blocking() : std::string(made.status().message());
}

TEST(GroupedOnCuda, TakesWhatModelsHave) {
  EXPECT_EQ(blocking_of(experts(128, 65536, 7168, 2048)), "BM=128 BN=256 CLUSTER_M=1 CLUSTER_N=2 BK=64");
  EXPECT_EQ(blocking_of(experts(128, 65536, 2048, 7168)), "BM=128 BN=256 CLUSTER_M=1 CLUSTER_N=2 BK=64");
  EXPECT_EQ(blocking_of(experts(1, 8, 8, 8)), "BM=128 BN=128 CLUSTER_M=1 CLUSTER_N=1 BK=64");
  EXPECT_EQ(blocking_of(experts(4, 100, 768, 64), "BN=128"), "BM=128 BN=128 CLUSTER_M=1 CLUSTER_N=2 BK=64");
  GroupedDescription by_rows = experts(128, 65536, 7168, 2048);
  by_rows.b = {.row_stride = 7168, .column_stride = 1, .batch_stride = 7168 * 2048};
  EXPECT_EQ(blocking_of(by_rows), "BM=128 BN=256 CLUSTER_M=1 CLUSTER_N=2 BK=64");
  for (const ElementType input : {ElementType::bf16, ElementType::f16})
    for (const ElementType output : {input, ElementType::f32}) {
      const auto made = cuda::make_grouped(experts(4, 100, 768, 64, {input, output}), {}, h200);
      ASSERT_TRUE(made.ok()) << made.status().message();
      EXPECT_EQ(made.value()->kernel(),
                input == ElementType::bf16 ? "sm90_grouped_bf16_wgmma" : "sm90_grouped_f16_wgmma");
    }
}

TEST(GroupedOnCuda, TakesNumbersOf8BitsWhereTheyMayBeRounded) {
  const GroupedDescription d = experts(128, 65536, 7168, 2048, {ElementType::f8e4m3, ElementType::bf16});
  const auto made = cuda::make_grouped(d, {.accuracy = Accuracy::reduced}, h200);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made.value()->kernel(), "sm90_grouped_f8e4m3_wgmma");
  EXPECT_EQ(made.value()->blocking(), "BM=128 BN=256 CLUSTER_M=1 CLUSTER_N=2 BK=128");
}

void expect_refused(const GroupedDescription& d, std::string_view part, const GemmOptions& options = {}) {
  const auto made = cuda::make_grouped(d, options, h200);
  ASSERT_FALSE(made.ok()) << "expected: " << part;
  EXPECT_NE(made.status().message().find(part), std::string_view::npos) << made.status().message();
}

TEST(GroupedOnCuda, RefusesWhatThereIsNoKernelFor) {
  const GroupedDescription good = experts(4, 300, 264, 72);
  expect_refused(experts(4, 300, 264, 72, {ElementType::f32, ElementType::f32}), "types = f32");
  expect_refused(experts(4, 300, 264, 80, {ElementType::f8e4m3, ElementType::f32}), "keep reduced alone");
  GroupedDescription by_rows = experts(4, 300, 272, 80, {ElementType::f8e4m3, ElementType::f32});
  by_rows.b = {.row_stride = 272, .column_stride = 1, .batch_stride = 272 * 80};
  expect_refused(by_rows, "b with strides (272, 1)", {.accuracy = Accuracy::reduced});
  expect_refused(experts(4, 300, 264, 0), "k = 0");
  expect_refused(experts(4, 300, 264, 32776), "k = 32776");
  expect_refused(experts(4, std::int64_t{1} << 31, 264, 72), "total_rows = 2147483648");
  expect_refused(experts(1 << 30, 1 << 30, 1 << 20, 72), "too many tiles");
  expect_refused(good, "compensated", {.accuracy = Accuracy::compensated});
  expect_refused(good, "kernel = sm90_bf16_wgmma", {.kernel = "sm90_bf16_wgmma"});
  expect_refused(good, "BM=64", {.parameters = "BM=64"});
  GroupedDescription d = good;
  d.a.row_stride = 73;
  expect_refused(d, "a with strides (73, 1)");
  d = good;
  d.b.batch_stride = 0;
  expect_refused(d, "batch stride 0");
  d = good;
  d.b.column_stride = 81;
  expect_refused(d, "b with strides (1, 81)");
  d = good;
  d.c = {.row_stride = 1, .column_stride = 300};
  expect_refused(d, "c.column_stride = 300");
}

}  // namespace
}  // namespace exactile::test
