// SPDX-License-Identifier: Apache-2.0
// The scale of the row comes before that of the column, however a kernel reads the product: bits depend neither on the
// number of rows nor on how C is stored.
#include <cstring>
#include <utility>
#include <vector>

#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

constexpr std::int64_t terms = 96;

/// 1 in that type, in the low bytes.
std::uint32_t one(ElementType type) {
  switch (type) {
    case ElementType::f32: return 0x3f800000;
    case ElementType::bf16: return 0x3f80;
    case ElementType::f16: return 0x3c00;
    case ElementType::f8e4m3: return 0x38;
    case ElementType::f8e5m2: return 0x3c;
    default: return 0;
  }
}

DeviceMemory uploaded(const Context& context, const void* data, std::size_t bytes) {
  Result<DeviceMemory> memory = context.allocate(static_cast<std::int64_t>(bytes));
  EXPECT_TRUE(memory.ok() && memory.value().upload(data, static_cast<std::int64_t>(bytes)).ok());
  return std::move(memory.value());
}

DeviceMemory ones(const Context& context, ElementType type, std::int64_t count) {
  const std::uint32_t value = one(type);
  const auto size = static_cast<std::size_t>(size_in_bytes(type));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  for (std::size_t i = 0; i < bytes.size(); i += size) std::memcpy(bytes.data() + i, &value, size);
  return uploaded(context, bytes.data(), bytes.size());
}

std::vector<float> scales(std::int64_t count, float first) {
  std::vector<float> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = first / static_cast<float>(i + 3);
  return all;
}

/// Whether the kernel has that product.
bool expect_rows_first(const Context& context, const KernelOfType& kernel, std::int64_t m, std::int64_t n,
                       bool by_columns) {
  GemmDescription d = contiguous_case(kernel.types, m, n, terms).description;
  if (by_columns) d.c = {1, m};
  d.row_scales = d.column_scales = true;
  const Result<Plan> plan = Plan::make(
      d, {.backend = Backend::cuda, .kernel = kernel.kernel, .accuracy = kernel.accuracy, .memory = Memory::device});
  if (!plan.ok()) {
    EXPECT_EQ(plan.status().code(), StatusCode::unsupported) << plan.status().message();
    return false;
  }
  const std::vector<float> rows = scales(m, 0.7f);
  const std::vector<float> columns = scales(n, 1.1f);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  const DeviceMemory on_device[] = {
      ones(context, kernel.types.input, m * terms), ones(context, kernel.types.input, terms * n),
      uploaded(context, c.data(), 4 * c.size()), uploaded(context, rows.data(), 4 * rows.size()),
      uploaded(context, columns.data(), 4 * columns.size())};
  const Status status = plan.value().run({.a = on_device[0].at(),
                                          .b = on_device[1].at(),
                                          .c = on_device[2].at(),
                                          .row_scales = on_device[3].at(),
                                          .column_scales = on_device[4].at()},
                                         context.execution());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(on_device[2].download(c.data(), 4 * m * n).ok());
  int wrong = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const float scaled_row = static_cast<float>(terms) * rows[static_cast<std::size_t>(i)];
      const float due = scaled_row * columns[static_cast<std::size_t>(j)];
      wrong += c[static_cast<std::size_t>(by_columns ? j * m + i : i * n + j)] == due ? 0 : 1;
    }
  EXPECT_EQ(wrong, 0) << kernel.kernel << ", " << to_string(kernel.types) << ", " << m << " x " << n
                      << (by_columns ? ", C by columns" : "");
  return true;
}

TEST(ScalesOnDevice, TheRowsComeFirst) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  int products = 0;
  for (const KernelOfType& kernel : cuda_kernels()) {
    if (kernel.types.output != ElementType::f32 || one(kernel.types.input) == 0) continue;
    for (const bool by_columns : {false, true})
      for (const auto& [m, n] : {std::pair{12, 200}, std::pair{200, 12}, std::pair{130, 140}})
        products += expect_rows_first(context.value(), kernel, m, n, by_columns) ? 1 : 0;
  }
  EXPECT_GT(products, 100);
}

}  // namespace
}  // namespace exactile::test
