// SPDX-License-Identifier: Apache-2.0
// D <- alpha*A*B + beta*C, with a D beside C: the bits of the product in place after a copy, and what is refused.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "exactile/exactile.hpp"

namespace exactile {
namespace {

constexpr std::int64_t m = 13;
constexpr std::int64_t n = 9;
constexpr std::int64_t k = 6;

class SeparateOutput : public testing::Test {
 protected:
  static std::vector<float> numbers(std::int64_t count, int seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>((static_cast<int>(i) * 37 + seed) % 101) / 7.0F;
    return values;
  }
  static void expect_refusal(const Status& status, std::string_view word) {
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_NE(status.message().find(word), std::string_view::npos) << status.message();
  }

  const std::vector<float> a_ = numbers(m * k, 1);
  const std::vector<float> b_ = numbers(k * n, 2);
  const std::vector<float> c_ = numbers(m * n, 3);
  const MatrixView<const float> a_view_{a_.data(), m, k};
  const MatrixView<const float> b_view_{b_.data(), k, n};
  const MatrixView<const float> c_view_{c_.data(), m, n};
};

TEST_F(SeparateOutput, HasTheBitsOfTheProductInPlace) {
  const std::vector<float> bias = numbers(n, 4);
  for (const float alpha : {0.0F, 1.5F}) {
    const GemmCall<float, float> call{
        .alpha = alpha, .beta = -0.75F, .column_bias = bias.data(), .activation = Activation::relu};
    std::vector<float> due = c_;
    ASSERT_TRUE(gemm(a_view_, b_view_, MatrixView(due.data(), m, n), call).ok());
    std::vector<float> found(m * n, std::numeric_limits<float>::quiet_NaN());
    const Status status = gemm(a_view_, b_view_, c_view_, MatrixView(found.data(), m, n), call);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(found, due) << alpha;
  }
}

/// Against a C by columns, a D by columns, and both.
TEST_F(SeparateOutput, AnyStrides) {
  std::vector<float> due = c_;
  ASSERT_TRUE(gemm(a_view_, b_view_, MatrixView(due.data(), m, n), {.beta = 1}).ok());
  std::vector<float> c_by_columns(m * n);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) c_by_columns[static_cast<std::size_t>(j * m + i)] = c_view_(i, j);
  const auto columns = column_major<const float>(c_by_columns.data(), m, n, m);
  for (const auto& c : {c_view_, columns}) {
    for (const bool by_columns : {false, true}) {
      std::vector<float> storage(2 * m * n);
      const MatrixView<float> d = by_columns ? MatrixView<float>(storage.data(), m, n, 2, 2 * m)
                                             : MatrixView<float>(storage.data(), m, n, 2 * n, 2);
      ASSERT_TRUE(gemm(a_view_, b_view_, c, d, {.beta = 1}).ok());
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          EXPECT_EQ(d(i, j), due[static_cast<std::size_t>(i * n + j)]) << i << ", " << j << by_columns;
    }
  }
}

TEST_F(SeparateOutput, OneCForABatchAndPointers) {
  constexpr std::int64_t count = 3;
  std::vector<float> due = c_;
  ASSERT_TRUE(gemm(a_view_, b_view_, MatrixView(due.data(), m, n), {.beta = 2}).ok());
  std::vector<float> found(count * m * n);
  const BatchView<float> d{.first = {found.data(), m, n}, .count = count, .stride = m * n};
  ASSERT_TRUE(gemm(a_view_, b_view_, c_view_, d, {.beta = 2}).ok());
  std::vector<float> by_pointers(count * m * n);
  std::array<float*, count> pointers{};
  for (std::size_t p = 0; p < count; ++p) pointers[p] = by_pointers.data() + p * m * n;
  const PointerBatchView<float> d_pointers{.shape = {nullptr, m, n}, .count = count, .pointers = pointers.data()};
  ASSERT_TRUE(gemm(a_view_, b_view_, c_view_, d_pointers, {.beta = 2}).ok());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], due[i % due.size()]) << i;
    EXPECT_EQ(by_pointers[i], due[i % due.size()]) << i;
  }
}

TEST_F(SeparateOutput, BetaZeroDoesNotReadC) {
  const std::vector<float> nans(m * n, std::numeric_limits<float>::quiet_NaN());
  std::vector<float> due(m * n);
  std::vector<float> found(m * n);
  ASSERT_TRUE(gemm(a_view_, b_view_, MatrixView(due.data(), m, n)).ok());
  ASSERT_TRUE(gemm(a_view_, b_view_, MatrixView(nans.data(), m, n), MatrixView(found.data(), m, n), {.beta = 0}).ok());
  EXPECT_EQ(found, due);
}

TEST_F(SeparateOutput, CItselfIsInPlaceAndAPartOfItIsRefused) {
  std::vector<float> due = c_;
  ASSERT_TRUE(gemm(a_view_, b_view_, MatrixView(due.data(), m, n), {.beta = 1}).ok());
  std::vector<float> storage = c_;
  storage.resize(2 * m * n);
  const MatrixView<float> c(storage.data(), m, n);
  ASSERT_TRUE(gemm(a_view_, b_view_, c, c, {.beta = 1}).ok());
  EXPECT_TRUE(std::equal(due.begin(), due.end(), storage.begin()));
  const std::vector<float> before = storage;
  expect_refusal(gemm(a_view_, b_view_, c, MatrixView<float>(storage.data() + n, m, n), {.beta = 1}),
                 "d shares memory");
  expect_refusal(gemm(a_view_, b_view_, c, MatrixView<float>(storage.data(), m, n, 1, m), {.beta = 1}),
                 "d shares memory");
  EXPECT_EQ(storage, before);
}

TEST_F(SeparateOutput, RefusalsNameD) {
  std::vector<float> storage(m * n);
  expect_refusal(gemm(a_view_, b_view_, c_view_, MatrixView<float>(storage.data(), n, m), {.beta = 1}), "a's rows");
  expect_refusal(
      gemm(a_view_, b_view_, c_view_.submatrix(0, 0, m - 1, n), MatrixView(storage.data(), m, n), {.beta = 1}),
      "c is 12 x 9 and d is 13 x 9");
  expect_refusal(gemm(a_view_, b_view_, c_view_, MatrixView<float>(nullptr, m, n), {.beta = 1}), "d = null");
  expect_refusal(
      gemm(a_view_, b_view_, MatrixView<const float>(nullptr, m, n), MatrixView(storage.data(), m, n), {.beta = 1}),
      "c = null");
  expect_refusal(gemm(a_view_, b_view_, c_view_, MatrixView<float>(storage.data(), m, n, 0, 1), {.beta = 1}),
                 "d's row");
  expect_refusal(
      gemm(a_view_, b_view_, c_view_, MatrixView<float>(const_cast<float*>(a_.data()), m, n, n, 1), {.beta = 1}),
      "d shares memory with a");
}

TEST_F(SeparateOutput, TwoBiasesAreRefused) {
  std::vector<float> storage(m * n);
  expect_refusal(
      gemm(a_view_, b_view_, MatrixView(storage.data(), m, n), {.row_bias = c_.data(), .column_bias = c_.data()}),
      "row_bias and column_bias");
}

}  // namespace
}  // namespace exactile
