// SPDX-License-Identifier: Apache-2.0
// D <- alpha*A*B + beta*C with both in device memory: the bytes of the product in place after a copy, and C unchanged.
#include <algorithm>
#include <limits>

#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

constexpr std::int64_t m = 130, n = 70, k = 90, count = 3;

struct Layouts {
  OperandLayout c;
  OperandLayout d;
};
const Layouts layouts[] = {
    {{.row_stride = n, .batch_stride = m * n}, {.row_stride = n, .batch_stride = m * n}},
    {{.row_stride = 0, .column_stride = 1}, {.row_stride = 2 * n, .column_stride = 2, .batch_stride = 2 * m * n}},
    {{.row_stride = 1, .column_stride = m, .batch_stride = m * n}, {.row_stride = n + 3, .batch_stride = m * (n + 3)}}};

DeviceMemory upload(const Context& context, const std::vector<float>& numbers) {
  const auto bytes = static_cast<std::int64_t>(numbers.size() * sizeof(float));
  Result<DeviceMemory> memory = context.allocate(bytes);
  EXPECT_TRUE(memory.ok() && memory->upload(numbers.data(), bytes).ok());
  return std::move(memory).value();
}

std::vector<float> download(const DeviceMemory& memory) {
  std::vector<float> numbers(static_cast<std::size_t>(memory.bytes()) / sizeof(float));
  EXPECT_TRUE(memory.download(numbers.data(), memory.bytes()).ok());
  return numbers;
}

std::vector<float> numbers(std::int64_t size, int seed) {
  std::vector<float> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<int>(i) * 37 + seed) % 1013 - 500) / 7.0F;
  return values;
}

TEST(DeviceSeparateOutput, HasTheBytesOfTheProductInPlace) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  constexpr std::int64_t room = 2 * count * m * (n + 3);
  const std::vector<float> c_numbers = numbers(count * m * n, 3);
  const DeviceMemory a = upload(*context, numbers(count * m * k, 1));
  const DeviceMemory b = upload(*context, numbers(k * n, 2));
  const DeviceMemory c = upload(*context, c_numbers);
  const GemmOptions options{.backend = Backend::cuda, .memory = Memory::device};
  for (const Layouts& layout : layouts)
    for (const double alpha : {0.0, 1.5}) {
      GemmDescription d{.types = {ElementType::f32, ElementType::f32},
                        .m = m,
                        .n = n,
                        .k = k,
                        .a = {.row_stride = k, .batch_stride = m * k},
                        .b = {.row_stride = n},
                        .c = layout.d,
                        .batch_count = count};
      std::vector<float> before(room, -7);  // D as C would have been copied to it
      for (std::int64_t p = 0; p < count; ++p)
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            before[static_cast<std::size_t>(p * layout.d.batch_stride + i * layout.d.row_stride +
                                            j * layout.d.column_stride)] =
                c_numbers[static_cast<std::size_t>(p * layout.c.batch_stride + i * layout.c.row_stride +
                                                   j * layout.c.column_stride)];
      const DeviceMemory due = upload(*context, before);
      const DeviceMemory found = upload(*context, std::vector<float>(room, -7));
      GemmArguments arguments{.a = a.at(), .b = b.at(), .c = due.at(), .alpha = alpha, .beta = -0.75};
      ASSERT_TRUE(gemm(d, arguments, options, context->execution()).ok());
      d.c = layout.c;
      d.d = layout.d;
      arguments.c = c.at();
      arguments.d = found.at();
      const Status status = gemm(d, arguments, options, context->execution());
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(context->synchronize().ok());
      EXPECT_EQ(download(found), download(due)) << alpha;
      EXPECT_EQ(download(c), c_numbers);
    }
}

TEST(DeviceSeparateOutput, ADThatPartlyOverlapsCIsRefused) {
  SKIP_WITHOUT_GPU();
  const Result<Context> context = Context::make(Backend::cuda);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const DeviceMemory memory = upload(*context, std::vector<float>(4 * m * n, 1));
  const GemmDescription d{.types = {ElementType::f32, ElementType::f32},
                          .m = m,
                          .n = n,
                          .k = n,
                          .a = {.row_stride = n},
                          .b = {.row_stride = n},
                          .c = {.row_stride = n},
                          .d = OperandLayout{.row_stride = n}};
  const Status status = gemm(d,
                             {.a = memory.at(),
                              .b = memory.at(),
                              .c = memory.at(2 * m * n * 4),
                              .beta = 1,
                              .d = memory.at((2 * m * n + n) * 4)},
                             {.backend = Backend::cuda, .memory = Memory::device}, context->execution());
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_NE(status.message().find("d shares memory with c"), std::string_view::npos) << status.message();
}

}  // namespace
}  // namespace exactile::test
