// SPDX-License-Identifier: Apache-2.0
// The same bytes from every kernel that promises more than standard, for any number of threads and whatever shares the
// product.
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

void expect_same_bytes(GemmTypes types, Accuracy accuracy, verification::Fill fill, std::int64_t m, std::int64_t n,
                       std::int64_t k) {
  const GemmDescription description = contiguous(types, m, n, k);
  Matrices matrices(description, 7, fill);
  const auto due = product(description, matrices, {.kernel = "portable_certified", .accuracy = accuracy, .threads = 1});
  for (const KernelInfo& kernel : kernels()) {
    const GemmOptions options{.kernel = kernel.name, .accuracy = accuracy};
    if (!kernel.available || kernel.backend == Backend::cuda || !Plan::make(description, options).ok()) continue;
    EXPECT_EQ(product(description, matrices, options), due) << kernel.name << " " << to_string(types) << " m=" << m
                                                            << " n=" << n << " k=" << k << ", " << to_string(accuracy);
  }
  for (const int threads : {1, 2, 3})
    EXPECT_EQ(product(description, matrices, {.accuracy = accuracy, .threads = threads}), due) << threads << " threads";
  // Some of the rows alone.
  GemmDescription few = description;
  few.m = std::min<std::int64_t>(3, m);
  const auto rows = product(few, matrices, {.accuracy = accuracy});
  const auto count = static_cast<std::size_t>(few.m * n * size_in_bytes(types.output));
  EXPECT_TRUE(std::equal(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), due.begin()))
      << to_string(types) << " m=" << few.m << " of " << m << " n=" << n << " k=" << k;
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
