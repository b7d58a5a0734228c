// SPDX-License-Identifier: Apache-2.0
// Offsets beyond 2^31 elements, without the memory that would go with them.
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "conformance/support.hpp"
#include "verification/elements.hpp"

namespace exactile::test {
namespace {

constexpr std::int64_t far_apart = (std::int64_t{1} << 31) + 7;

/// Three mappings in which only the touched pages exist.
class Sparse {
 public:
  explicit Sparse(std::size_t bytes) : a_(bytes), b_(bytes), c_(bytes) {}
  [[nodiscard]] bool ok() const { return a_.data() != nullptr && b_.data() != nullptr && c_.data() != nullptr; }
  [[nodiscard]] GemmArguments arguments() const { return {.a = a_.data(), .b = b_.data(), .c = c_.data()}; }

 private:
  SparseMemory a_, b_, c_;
};

void fill_and_check(const GemmDescription& d, const GemmArguments& arguments, const KernelOfType& kernel) {
  using verification::Fill;
  using verification::Part;
  verification::fill(Fill::small_integers, 3, d.types.input, d.m, d.k, d.a, 1, const_cast<void*>(arguments.a), Part::a);
  verification::fill(Fill::small_integers, 3, d.types.input_b, d.k, d.n, d.b, 1, const_cast<void*>(arguments.b),
                     Part::b);
  announce("huge strides: " + test_name(kernel));
  if (!runs(d, arguments, kernel)) return;
  announce({});
  const verification::ErrorReport report = verification::compare(d, arguments, nullptr);
  EXPECT_TRUE(report.passed) << test_name(kernel) << ": " << report.failure;
}

TEST(Sizes, StridesBeyondTwoToTheThirtyOne) {
  const Sparse memory(static_cast<std::size_t>(2 * far_apart + 64) * 16);
  if (!memory.ok()) GTEST_SKIP() << "no address space for three mappings of 64 GiB";
  for (const KernelOfType& kernel : everything()) {
    GemmDescription d = contiguous(kernel.types, 3, 3, 3);
    d.a = d.b = d.c = {far_apart, 1};
    fill_and_check(d, memory.arguments(), kernel);
    d.a = d.b = d.c = {1, far_apart};
    fill_and_check(d, memory.arguments(), kernel);
    d.a = {far_apart, 2};
    d.b = {3, far_apart};
    d.c = {far_apart, 5};
    fill_and_check(d, memory.arguments(), kernel);
    for (const auto& [m, n] : {std::pair{1, 3}, {3, 1}}) {
      GemmDescription line = contiguous(kernel.types, m, n, 3);
      line.a = line.b = line.c = {far_apart, 1};
      fill_and_check(line, memory.arguments(), kernel);
      line.a = line.b = line.c = {1, far_apart};
      fill_and_check(line, memory.arguments(), kernel);
    }
  }
}

TEST(Sizes, ManyRowsOfAWideMatrix) {
  constexpr std::int64_t rows = 50000;
  constexpr std::int64_t stride = 50001;  // 2.5e9 elements from end to end
  for (const GemmTypes types : {f32_types, f64_types}) {
    const Sparse memory(static_cast<std::size_t>(rows * stride * size_in_bytes(types.input)));
    if (!memory.ok()) GTEST_SKIP() << "no address space";
    GemmDescription d = contiguous(types, rows, 3, 5);
    d.a.row_stride = d.c.row_stride = stride;
    fill_and_check(d, memory.arguments(), {"", types});
    d = contiguous(types, 3, rows, 5);
    d.b = {1, stride};
    d.c = {1, stride};
    fill_and_check(d, memory.arguments(), {"", types});
  }
}

TEST(Sizes, BatchStridesBeyondTwoToTheThirtyOne) {
  const Sparse memory(static_cast<std::size_t>(3 * far_apart) * 8);
  if (!memory.ok()) GTEST_SKIP() << "no address space";
  for (const KernelOfType& kernel : everything()) {
    if (size_in_bytes(kernel.types.output) > 8) continue;
    GemmDescription d = contiguous(kernel.types, 2, 3, 4, 3);
    d.a.batch_stride = d.b.batch_stride = d.c.batch_stride = far_apart;
    const GemmArguments arguments = memory.arguments();
    verification::fill(verification::Fill::small_integers, 5, d.types.input, 2, 4, d.a, 3,
                       const_cast<void*>(arguments.a));
    verification::fill(verification::Fill::small_integers, 5, d.types.input_b, 4, 3, d.b, 3,
                       const_cast<void*>(arguments.b), verification::Part::b);
    if (!runs(d, arguments, kernel)) continue;
    EXPECT_TRUE(verification::compare(d, arguments, nullptr).passed) << test_name(kernel);
  }
}

/// A has 2.8e9 elements of one float; C is a single column.
TEST(Sizes, BroadcastMatrixOfMoreThanTwoToTheThirtyOneElements) {
  constexpr std::int64_t m = 40000;
  constexpr std::int64_t k = 70000;
  const float one = 1;
  std::vector<float> b(k);
  for (std::size_t p = 0; p < b.size(); ++p) b[p] = static_cast<float>(p % 7) - 2;
  const float due = std::accumulate(b.begin(), b.end(), 0.0F);  // small integers: exact in any order
  std::vector<float> c(m, -1);
  GemmDescription d{.types = f32_types, .m = m, .n = 1, .k = k, .a = {0, 0}, .b = {1, 1}, .c = {1, 1}};
  ASSERT_TRUE(runs(d, {.a = &one, .b = b.data(), .c = c.data()}, {"", f32_types}));
  for (std::int64_t i = 0; i < m; ++i) ASSERT_EQ(c[static_cast<std::size_t>(i)], due) << i;
}

TEST(Sizes, EmptyProductsOfHugeMatrices) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  GemmDescription d{.types = f32_types, .m = huge, .n = 0, .k = 4, .a = {4, 1}, .b = {0, 1}, .c = {0, 1}};
  EXPECT_TRUE(runs(d, {}, {"", f32_types}));
  float element = 3;
  d = {.types = f32_types, .m = 1, .n = 1, .k = huge, .a = {0, 0}, .b = {0, 0}, .c = {1, 1}};
  ASSERT_TRUE(runs(d, {.c = &element, .alpha = 0, .beta = 2}, {"", f32_types}));
  EXPECT_EQ(element, 6);
}

}  // namespace
}  // namespace exactile::test
