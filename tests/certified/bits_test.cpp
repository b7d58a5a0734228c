// SPDX-License-Identifier: Apache-2.0
// The same bytes from every kernel that promises more than standard, for any number of threads and whatever shares the
// product.
#include <fmt/format.h>

#include "support/check_case.hpp"
#include "support/matrices.hpp"

namespace exactile::test {
namespace {

std::vector<std::byte> product(const GemmDescription& description, Matrices& matrices, const GemmOptions& options) {
  matrices.clear_c();
  const Status status = gemm(description, matrices.arguments(), options);
  EXPECT_TRUE(status.ok()) << status.message();
  return matrices.c();
}

/// From every kernel of the processor; a device's order of summation is its own, so that only what is rounded correctly
/// is the same there.
void expect_same_bytes(const GemmDescription& description, Accuracy accuracy, verification::Fill fill) {
  Matrices matrices(description, 7, fill);
  const auto due = product(description, matrices, {.kernel = "portable_certified", .accuracy = accuracy, .threads = 1});
  const std::string shape = fmt::format("{} {}x{}x{}, {} of them, {}", to_string(description.types), description.m,
                                        description.n, description.k, description.batch_count, to_string(accuracy));
  for (const KernelInfo& kernel : kernels()) {
    const GemmOptions options{.kernel = kernel.name, .accuracy = accuracy};
    const bool takes_all = kernel.available && kernel.name == "cuda_certified";
    EXPECT_TRUE(!takes_all || Plan::make(description, options).ok()) << shape;
    const bool is_comparable = kernel.backend == Backend::cpu || accuracy == Accuracy::correctly_rounded;
    if (!kernel.available || !is_comparable || !Plan::make(description, options).ok()) continue;
    EXPECT_EQ(product(description, matrices, options), due) << kernel.name << " " << shape;
  }
  for (const int threads : {1, 2, 3})
    EXPECT_EQ(product(description, matrices, {.accuracy = accuracy, .threads = threads}), due) << threads << " threads";
  // Some of the rows alone.
  GemmDescription few = description;
  few.m = std::min<std::int64_t>(3, description.m);
  const auto rows = product(few, matrices, {.accuracy = accuracy});
  const auto count = static_cast<std::size_t>(few.m * few.n * size_in_bytes(few.types.output));
  if (few.c.column_stride == 1 && few.batch_count == 1) {
    EXPECT_TRUE(std::equal(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), due.begin()))
        << few.m << " rows of " << shape;
  }
}

void expect_same_bytes(GemmTypes types, Accuracy accuracy, verification::Fill fill, std::int64_t m, std::int64_t n,
                       std::int64_t k) {
  expect_same_bytes(contiguous(types, m, n, k), accuracy, fill);
}

/// A batch, and operands that lie as their columns where a bit of `by_columns` is set.
GemmDescription batch(GemmTypes types, unsigned by_columns) {
  GemmDescription d = contiguous(types, 40, 33, 37 + 30 * by_columns, 3);
  const auto turn = [](OperandLayout& layout, std::int64_t rows) {
    layout.row_stride = 1;
    layout.column_stride = rows;
  };
  if ((by_columns & 1) != 0) turn(d.a, d.m);
  if ((by_columns & 2) != 0) turn(d.b, d.k);
  if ((by_columns & 4) != 0) turn(d.c, d.m);
  if ((by_columns & 3) == 3) d.b.batch_stride = 0;
  return d;
}

TEST(CertifiedBits, DoNotDependOnTheKernel) {
  for (const GemmTypes types : all_gemm_types()) {
    if (!is_floating(types.input)) continue;
    for (const Accuracy accuracy : {Accuracy::compensated, Accuracy::correctly_rounded}) {
      expect_same_bytes(types, accuracy, verification::Fill::normal, 45, 37, 300);
      expect_same_bytes(types, accuracy, verification::Fill::cancelling, 29, 50, 129);
      expect_same_bytes(types, accuracy, verification::Fill::wide_range, 13, 17, 64);
      expect_same_bytes(types, accuracy, verification::Fill::special_values, 25, 19, 40);
      expect_same_bytes(types, accuracy, verification::Fill::small_integers, 1, 70, 500);
    }
  }
}

TEST(CertifiedBits, DoNotDependOnLayoutsAndTheBackend) {
  using verification::Fill;
  for (const GemmTypes types : all_gemm_types()) {
    if (!is_floating(types.input)) continue;
    for (unsigned by_columns = 0; by_columns < 8; ++by_columns)
      for (const Fill fill : {Fill::normal, Fill::cancelling, Fill::wide_range})
        expect_same_bytes(batch(types, by_columns), Accuracy::correctly_rounded, fill);
  }
}

TEST(CertifiedBits, OfLongSumsDoNotDependOnTheBackend) {
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::bf16, ElementType::cf32})
    expect_same_bytes({type, type}, Accuracy::correctly_rounded, verification::Fill::normal, 67, 35, 2500);
}

TEST(ErrorBound, IsThatOfTypesDepthAndAccuracy) {
  const GemmTypes f32{ElementType::f32, ElementType::f32};
  const auto bound = [](GemmTypes types, Accuracy accuracy) {
    const Result<Plan> plan = Plan::make(contiguous(types, 4, 5, 97), {.accuracy = accuracy});
    EXPECT_TRUE(plan.ok());
    return plan.value().error_bound();
  };
  const double u = 0x1p-24;
  EXPECT_EQ(bound(f32, Accuracy::standard).of_result, 0);
  EXPECT_EQ(bound(f32, Accuracy::standard).of_terms, gamma(100, u));
  EXPECT_EQ(bound(f32, Accuracy::reduced).of_terms, gamma(100, u) + error_beyond_gamma(Accuracy::reduced, f32.input));
  EXPECT_EQ(bound(f32, Accuracy::compensated).of_result, u);
  EXPECT_EQ(bound(f32, Accuracy::compensated).of_terms, gamma(100, u) * gamma(100, u));
  EXPECT_EQ(bound(f32, Accuracy::correctly_rounded).of_result, u);
  EXPECT_EQ(bound(f32, Accuracy::correctly_rounded).of_terms, 0);
  EXPECT_EQ(bound({ElementType::cf64, ElementType::cf64}, Accuracy::standard).of_terms, gamma(198, 0x1p-53));
  EXPECT_EQ(bound({ElementType::bf16, ElementType::bf16}, Accuracy::standard).of_result, 0x1p-8);
  EXPECT_EQ(bound({ElementType::i32, ElementType::i32}, Accuracy::standard).of_terms, 0);
}

}  // namespace
}  // namespace exactile::test
