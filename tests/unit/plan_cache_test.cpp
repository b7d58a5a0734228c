// SPDX-License-Identifier: Apache-2.0
// One-shot calls that find an earlier call's plan compute what they were asked for, whatever was asked before.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "exactile/exactile.hpp"

namespace exactile {
namespace {

/// Twice through more shapes than a thread remembers, with two strides, alphas and activations each: all values are
/// whole numbers, so every sum is exact.
TEST(PlanCache, EveryCallGetsItsOwnProduct) {
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t n = 1; n <= 90; ++n) {
      for (const bool is_turned : {false, true}) {
        std::vector<float> a(static_cast<std::size_t>(2 * n));
        std::iota(a.begin(), a.end(), 0.0F);  // so that other strides give other sums
        const std::vector<float> b(static_cast<std::size_t>(n * 3), 2);
        std::vector<float> c(6, -7);
        const MatrixView a_view = is_turned ? MatrixView(a.data(), n, 2).transposed() : MatrixView(a.data(), 2, n);
        const auto alpha = is_turned ? 1.0F : -1.0F;
        const Activation activation = n % 2 == 0 ? Activation::none : Activation::relu;
        const Status status = gemm(a_view, MatrixView(b.data(), n, 3), MatrixView(c.data(), 2, 3),
                                   {.alpha = alpha, .activation = activation});
        ASSERT_TRUE(status.ok()) << status.message();
        for (std::int64_t i = 0; i < 2; ++i) {
          float sum = 0;
          for (std::int64_t p = 0; p < n; ++p)
            sum += 2 * alpha * a[static_cast<std::size_t>(is_turned ? 2 * p + i : i * n + p)];
          if (activation == Activation::relu) sum = std::max(sum, 0.0F);
          const auto row = c.begin() + 3 * i;
          EXPECT_EQ(std::vector<float>(row, row + 3), std::vector<float>(3, sum)) << n << is_turned;
        }
      }
    }
  }
}

TEST(PlanCache, OptionsArePartOfWhatIsRemembered) {
  const std::vector<float> a(4, 1);
  std::vector<float> c(4);
  const MatrixView a_view(a.data(), 2, 2);
  const MatrixView c_view(c.data(), 2, 2);
  EXPECT_TRUE(gemm(a_view, a_view, c_view).ok());
  EXPECT_EQ(gemm(a_view, a_view, c_view, {.options = {.kernel = "none of that name"}}).code(),
            StatusCode::unknown_name);
  EXPECT_TRUE(gemm(a_view, a_view, c_view, {.options = {.kernel = "cpu_naive"}}).ok());
  EXPECT_EQ(gemm(a_view, a_view, c_view, {.options = {.threads = -1}}).code(), StatusCode::invalid_argument);
}

/// What a remembered plan cannot know is checked in every call.
TEST(PlanCache, ArgumentsAreCheckedEveryTime) {
  std::vector<float> a(4, 1);
  std::vector<float> c(4);
  const MatrixView a_view(a.data(), 2, 2);
  for (int call = 0; call < 3; ++call) {
    EXPECT_TRUE(gemm(a_view, a_view, MatrixView(c.data(), 2, 2)).ok());
    EXPECT_EQ(gemm(a_view, a_view, MatrixView(a.data(), 2, 2)).code(), StatusCode::invalid_argument);
    EXPECT_EQ(gemm(a_view, a_view, MatrixView<float>(nullptr, 2, 2)).code(), StatusCode::invalid_argument);
  }
}

/// What LeakSanitizer looks at: CI runs these tests under it.
TEST(PlanCache, GoesWithItsThread) {
  for (int i = 0; i < 4; ++i)
    std::thread([] {
      const std::vector<float> a(4, 1);
      std::vector<float> c(4);
      for (int call = 0; call < 2; ++call)
        EXPECT_TRUE(gemm(MatrixView(a.data(), 2, 2), MatrixView(a.data(), 2, 2), MatrixView(c.data(), 2, 2)).ok());
      EXPECT_EQ(c, std::vector<float>(4, 2));
    }).join();
}

}  // namespace
}  // namespace exactile
