// SPDX-License-Identifier: Apache-2.0
// Blocks of `short_sums` go on to further rows where there are more than the device runs at a time, and to further
// products where there are more than a grid has layers.
#include <algorithm>
#include <random>
#include <vector>

#include "gpu/device_product.hpp"
#include "gpu/row_major.hpp"

namespace exactile::test {
namespace {

/// `batch` products m x n x k of small integers, so that every sum is exact.
template <class T>
void expect_exact(ElementType type, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
  SCOPED_TRACE(std::to_string(batch) + " x " + std::to_string(m) + " x " + std::to_string(n) + " x " +
               std::to_string(k));
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  std::minstd_rand random(1);
  const auto on_device = [&](std::vector<T>& x, std::int64_t count) {
    x.resize(static_cast<std::size_t>(count));
    for (T& e : x) e = static_cast<T>(static_cast<int>(random() % 5) - 2);
    DeviceMemory memory = std::move(context.value().allocate(count * std::int64_t{sizeof(T)})).value();
    EXPECT_TRUE(memory.upload(x.data(), count * std::int64_t{sizeof(T)}).ok());
    return memory;
  };
  std::vector<T> a, b, c;
  DeviceMemory device_a = on_device(a, batch * m * k), device_b = on_device(b, batch * k * n);
  DeviceMemory device_c = on_device(c, batch * m * n);
  const GemmDescription d = row_major({type, type}, m, n, k, batch);
  const Result<Plan> plan = Plan::make(d, {.backend = Backend::cuda, .kernel = "short_sums", .memory = Memory::device});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Status status =
      plan.value().run({.a = device_a.at(), .b = device_b.at(), .c = device_c.at()}, context.value().execution());
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(context.value().synchronize().ok());
  ASSERT_TRUE(device_c.download(c.data(), batch * m * n * std::int64_t{sizeof(T)}).ok());
  std::int64_t wrong = 0;
  std::vector<T> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < batch * m; ++i) {
    std::fill(row.begin(), row.end(), T{0});
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < n; ++j)
        row[static_cast<std::size_t>(j)] +=
            a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>((i / m * k + p) * n + j)];
    wrong += std::equal(row.begin(), row.end(), c.begin() + i * n) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0) << "rows of C";
}

template <class T>
void expect_exact_beyond_the_grid(ElementType type) {
  SKIP_WITHOUT_GPU();
  expect_exact<T>(type, 20001, 2048, 5, 1);  // 8 rows a block, of which there are 32 an SM
  expect_exact<T>(type, 20001, 1026, 3, 1);  // the same with rows that are no whole vectors
  expect_exact<T>(type, 300, 36, 5, 9000);   // blocks enough in a single row of them for each product
  expect_exact<T>(type, 3, 5, 40, 70000);    // more products than layers, with a second piece of K
}

TEST(ShortSumsOnDevice, GoOnBeyondTheGridInF32) { expect_exact_beyond_the_grid<float>(ElementType::f32); }
TEST(ShortSumsOnDevice, GoOnBeyondTheGridInF64) { expect_exact_beyond_the_grid<double>(ElementType::f64); }

}  // namespace
}  // namespace exactile::test
