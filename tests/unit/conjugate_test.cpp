// SPDX-License-Identifier: Apache-2.0
// Conjugated operands: the product of conjugates, refused by kernels that do not conjugate, ignored for real types.
#include <gtest/gtest.h>

#include <complex>
#include <vector>

#include "exactile/exactile.hpp"
#include "plan/select.hpp"
#include "support/matrices.hpp"

namespace exactile {
namespace {

using Complex = std::complex<double>;

constexpr std::int64_t m = 25;
constexpr std::int64_t n = 39;
constexpr std::int64_t k = 300;

std::vector<Complex> whole_numbers(std::int64_t count, int seed) {
  std::vector<Complex> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int t = static_cast<int>(i) * 7 + seed;
    values[i] = {static_cast<double>(t % 11 - 5), static_cast<double>(t % 13 - 6)};
  }
  return values;
}

std::vector<Complex> conjugates(std::vector<Complex> values) {
  for (Complex& value : values) value = std::conj(value);
  return values;
}

class Conjugate : public testing::TestWithParam<std::string> {};

/// Sums of small whole numbers are exact, whatever the order: the two products must agree in every bit.
TEST_P(Conjugate, IsTheProductOfConjugatedElements) {
  const std::vector<Complex> a = whole_numbers(m * k, 1);
  const std::vector<Complex> b = whole_numbers(k * n, 2);
  const std::vector<Complex> a_conjugated = conjugates(a);
  const std::vector<Complex> b_conjugated = conjugates(b);
  const GemmCall<Complex, Complex> call{.options = {.kernel = GetParam()}};
  for (const bool of_a : {false, true}) {
    for (const bool of_b : {false, true}) {
      std::vector<Complex> found(m * n);
      std::vector<Complex> due(m * n);
      const MatrixView a_view(a.data(), k, m);
      const MatrixView b_view(b.data(), k, n);
      const Status status = gemm(of_a ? a_view.conjugate_transposed() : a_view.transposed(),
                                 of_b ? b_view.conjugated() : b_view, MatrixView(found.data(), m, n), call);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(gemm(MatrixView((of_a ? a_conjugated : a).data(), k, m).transposed(),
                       MatrixView((of_b ? b_conjugated : b).data(), k, n), MatrixView(due.data(), m, n), call)
                      .ok());
      EXPECT_EQ(found, due) << of_a << of_b;
    }
  }
}

/// The CPU's kernels that take this very product, and the planner's choice.
std::vector<std::string> kernels_that_conjugate() {
  std::vector<std::string> names{""};
  for (const KernelInfo& kernel : kernels()) {
    GemmDescription d = test::contiguous({ElementType::cf64, ElementType::cf64}, m, n, k);
    d.a = {.row_stride = 1, .column_stride = m, .conjugate = true};
    if (kernel.backend == Backend::cpu && Plan::make(d, {.kernel = kernel.name}).ok()) names.push_back(kernel.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Conjugate, testing::ValuesIn(kernels_that_conjugate()),
                         [](const auto& kernel) { return kernel.param.empty() ? "chosen" : kernel.param; });

TEST(Conjugate, TwiceIsTheMatrixItself) {
  const Complex element{1, 2};
  const MatrixView view(&element, 1, 1);
  EXPECT_FALSE(view.conjugate);
  EXPECT_TRUE(view.conjugated().conjugate);
  EXPECT_TRUE(view.conjugated().transposed().submatrix(0, 0, 1, 1).conjugate);
  EXPECT_FALSE(view.conjugated().conjugate_transposed().conjugate);
}

TEST(Conjugate, MeansNothingForRealTypes) {
  const std::vector<float> a{1, 2, 3, 4};
  std::vector<float> found(4);
  ASSERT_TRUE(gemm(MatrixView(a.data(), 2, 2).conjugated(), MatrixView(a.data(), 2, 2).conjugate_transposed(),
                   MatrixView(found.data(), 2, 2))
                  .ok());
  EXPECT_EQ(found, (std::vector<float>{5, 11, 11, 25}));
}

TEST(Conjugate, OfWhatIsWrittenIsRefused) {
  Complex element{1, 2};
  const MatrixView<Complex> view(&element, 1, 1);
  const Status status = gemm(view, view, view.conjugated());
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_NE(status.message().find("c.conjugate"), std::string_view::npos) << status.message();
}

TEST(Conjugate, KernelsThatDoNotSaySoAreRefused) {
  constexpr GemmTypes types{ElementType::cf32, ElementType::cf32};
  plan::KernelEntry entry{.name = "made_up",
                          .backend = Backend::cpu,
                          .role = "engine",
                          .summary = "",
                          .types = {&types, 1},
                          .unavailable = [](int) { return std::string_view(); },
                          .refuses = [](const plan::Problem&) { return std::string_view(); },
                          .cost = nullptr,
                          .prepare = nullptr};
  plan::Problem problem;
  problem.description.types = types;
  problem.description.m = problem.description.n = problem.description.k = 4;
  EXPECT_EQ(plan::why_not(entry, problem, {}), "");
  problem.description.b.conjugate = true;
  EXPECT_EQ(plan::why_not(entry, problem, {}), "does not conjugate operands");
  entry.conjugates = true;
  EXPECT_EQ(plan::why_not(entry, problem, {}), "");
}

}  // namespace
}  // namespace exactile
