// SPDX-License-Identifier: Apache-2.0
// Every tile of the sm80 family, its K divided among the blocks of a cluster or not, with operands in either direction,
// whose rows begin at multiples of 16, 8 or 4 bytes, or anywhere.
#include <algorithm>

#include "core/checked.hpp"
#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

constexpr std::int64_t m = 68, n = 132, k = 1030;

/// Rows and columns that lie across or along, `gap` elements beyond a multiple of 16 apart, as are two products.
OperandLayout layout(std::int64_t rows, std::int64_t columns, bool by_columns, std::int64_t gap) {
  const std::int64_t pitch = core::round_up(by_columns ? rows : columns, 16) + gap;
  const std::int64_t product = core::round_up((by_columns ? columns : rows) * pitch, 16) + gap;
  return by_columns ? OperandLayout{1, pitch, product} : OperandLayout{pitch, 1, product};
}

void expect_all_right(const char* kernel, GemmTypes types) {
  Tally tally;
  for (const std::string& tile : pinnable_parameters(kernel, types))
    for (const char* const division : {"SPLIT_K=1", "SPLIT_K=2", "SPLIT_K=8"})
      for (const std::int64_t gap : {0, 8, 4, 2, 1})
        for (const int direction : {0, 1, 2, 3}) {
          verification::Case test = contiguous_case(types, m, n, k);
          test.options.backend = Backend::cuda;
          test.options.memory = Memory::device;
          test.options.kernel = kernel;
          test.options.parameters = tile + " " + division + " PACK=0";
          test.description.a = layout(m, k, (direction & 1) != 0, gap);
          test.description.b = layout(k, n, (direction & 2) != 0, gap);
          test.description.c.batch_stride = m * n;
          test.description.batch_count = gap == 1 ? 2 : 1;
          tally += check_case(test);
        }
  const int divisions = std::ranges::count(cuda_kernels(), "sm90_f64_mma", &KernelOfType::kernel) > 0 ? 3 : 1;
  EXPECT_EQ(tally.passed, std::ssize(pinnable_parameters(kernel, types)) * divisions * 5 * 4)
      << "five gaps, four directions; K is divided where there are clusters";
}

TEST(MmaLayouts, TakesEveryDirectionAndAlignmentOfI8) {
  SKIP_WITHOUT_GPU();
  expect_all_right("sm80_i8_i32_mma", {ElementType::i8, ElementType::i32});
}

TEST(MmaLayouts, TakesEveryDirectionAndAlignmentOf16Bits) {
  SKIP_WITHOUT_GPU();
  expect_all_right("sm80_bf16_mma", {ElementType::bf16, ElementType::bf16});
  expect_all_right("sm80_f16_mma", {ElementType::f16, ElementType::f32});
}

}  // namespace
}  // namespace exactile::test
