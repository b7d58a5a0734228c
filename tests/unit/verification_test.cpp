// SPDX-License-Identifier: Apache-2.0
// The oracles themselves: right results pass, wrong ones do not, and special values are judged as the plain loop's.
#include "verification/verification.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "support/matrices.hpp"
#include "verification/compare.hpp"
#include "verification/guarded_operand.hpp"

namespace exactile::test {
namespace {

using verification::compare;
using verification::ErrorReport;
using verification::GuardedOperand;
using verification::residual;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

/// A 1 x 1 product of given rows, in double or float.
template <class T>
ErrorReport judge(std::vector<T> a, std::vector<T> b, T c) {
  const auto k = static_cast<std::int64_t>(a.size());
  const GemmTypes types{element_type_v<T>, element_type_v<T>};
  return compare(contiguous(types, 1, 1, k), {.a = a.data(), .b = b.data(), .c = &c}, nullptr);
}

TEST(Oracle, AcceptsTheRoundedSum) {
  EXPECT_TRUE(judge<double>({0.1, 0.2}, {3, 7}, 0.1 * 3 + 0.2 * 7).passed);
  EXPECT_TRUE(judge<float>({0.1F, 0.2F}, {3, 7}, 0.1F * 3 + 0.2F * 7).passed);
}

/// 1 * 1 - 1 * (1 + 2^-20) leaves -2^-20 of terms that make 2 + 2^-20: its last eighth is one u of them.
TEST(Oracle, MeasuresErrorsByWhatWasAddedUp) {
  const ErrorReport report = judge<float>({1, -1}, {1, 1 + 0x1p-20F}, -0x1p-20F + 0x1p-23F);
  EXPECT_TRUE(report.passed);
  EXPECT_DOUBLE_EQ(report.error_in_u, 0x1p-23 / (0x1p-24 * (2 + 0x1p-20)));
  EXPECT_DOUBLE_EQ(report.norm_error, 0.125);
  EXPECT_DOUBLE_EQ(report.max_relative_error, 0.125);
  EXPECT_EQ(judge<float>({1, -1}, {1, 1 + 0x1p-20F}, -0x1p-20F).error_in_u, 0);
}

TEST(Oracle, MeasuresErrorsOfWholeMatricesByTheirNorms) {
  const GemmDescription d = contiguous({ElementType::f64, ElementType::f64}, 2, 1, 1);
  const double a[] = {3, 4};
  const double b = 0x1p600;  // whose square is no double
  double c[] = {(3 + 0x1p-51) * 0x1p600, 4 * 0x1p600};
  const ErrorReport report = compare(d, {.a = a, .b = &b, .c = c}, nullptr);
  EXPECT_DOUBLE_EQ(report.norm_error, 0x1p-51 / 5);
}

TEST(Oracle, SeesAnErrorOfSomeRoundings) {
  const double right = 0.1 * 3 + 0.2 * 7;
  EXPECT_FALSE(judge<double>({0.1, 0.2}, {3, 7}, right * (1 + 1e-15 * 10)).passed);
  EXPECT_FALSE(judge<float>({0.1F, 0.2F}, {3, 7}, static_cast<float>(right) * (1 + 1e-6F)).passed);
}

TEST(Oracle, AllowsReducedProductsRoundedFactorsAndNoMore) {
  // 1 + 2^-10 - 2^-20 loses almost 2^-10 where it is cut to 11 bits.
  const std::vector<float> a{1 + 0x1p-10F - 0x1p-20F, 3};
  const std::vector<float> b{1 + 0x1p-10F - 0x1p-20F, 0x1p-12F};
  const GemmDescription d = contiguous({ElementType::f32, ElementType::f32}, 1, 1, 2);
  const auto passes = [&](float c, Accuracy accuracy) {
    const GemmArguments arguments{.a = a.data(), .b = b.data(), .c = &c};
    const bool passed = compare(d, arguments, nullptr, accuracy).passed;
    EXPECT_EQ(residual(d, arguments, nullptr, 1, accuracy).passed, passed);
    return passed;
  };
  const float cut = 1 + 3 * 0x1p-12F;
  EXPECT_TRUE(passes(cut, Accuracy::reduced));
  EXPECT_FALSE(passes(cut, Accuracy::standard));
  EXPECT_FALSE(passes(cut - 0x1p-17F, Accuracy::reduced));
}

TEST(Oracle, ReducedAllowsNothingInAddends) {
  const float a = 0x1p-20F;
  const float b = 1;
  const float before = 1;
  const GemmDescription d = contiguous({ElementType::f32, ElementType::f32}, 1, 1, 1);
  const auto passes = [&](float c) {
    return compare(d, {.a = &a, .b = &b, .c = &c, .beta = 1}, &before, Accuracy::reduced).passed;
  };
  EXPECT_TRUE(passes(1 + 0x1p-20F));
  EXPECT_FALSE(passes(1 + 0x1p-18F));
}

TEST(Oracle, ForgivesCancellationByMagnitude) {
  // The sum is 2^-60, and any order of summation in double may lose it, but no more than u * sum|a||b|.
  EXPECT_TRUE(judge<double>({1, 0x1p-60, -1}, {1, 1, 1}, 0).passed);
  EXPECT_FALSE(judge<double>({1, 0x1p-60, -1}, {1, 1, 1}, 0x1p-40).passed);
}

TEST(Oracle, SpecialValues) {
  EXPECT_TRUE(judge<double>({nan, 1}, {0, 1}, nan).passed);
  EXPECT_FALSE(judge<double>({nan, 1}, {0, 1}, 1).passed);
  EXPECT_FALSE(judge<double>({2, 1}, {1, 1}, nan).passed);
  EXPECT_TRUE(judge<double>({infinity, 1}, {1, 1}, infinity).passed);
  EXPECT_FALSE(judge<double>({infinity, 1}, {1, 1}, -infinity).passed);
  EXPECT_FALSE(judge<double>({infinity, 1}, {1, 1}, nan).passed);
  EXPECT_TRUE(judge<double>({infinity, 1}, {0, 1}, nan).passed);
  EXPECT_FALSE(judge<double>({infinity, 1}, {0, 1}, 1).passed);
  EXPECT_TRUE(judge<double>({infinity, infinity}, {1, -1}, nan).passed);
  EXPECT_FALSE(judge<double>({infinity, infinity}, {1, -1}, infinity).passed);
  EXPECT_FALSE(judge<double>({2, 1}, {1, 1}, infinity).passed);
}

TEST(Oracle, OverflowThatDependsOnOrderIsNobodysFault) {
  constexpr double huge = std::numeric_limits<double>::max();
  for (const double c : {infinity, nan, huge}) EXPECT_TRUE(judge<double>({huge, huge, -huge}, {1, 1, 1}, c).passed);
  EXPECT_TRUE(judge<double>({huge, huge}, {1, 1}, infinity).passed);
  constexpr float most = std::numeric_limits<float>::max();
  EXPECT_TRUE(judge<float>({most, most, -most}, {1, 1, 1}, std::numeric_limits<float>::infinity()).passed);
}

TEST(Oracle, NarrowOutputsOverflowWhereRoundingDoes) {
  Float16 a(256.0F);
  Float16 b(256.0F);
  Float16 c(std::numeric_limits<float>::infinity());
  const GemmDescription d = contiguous({ElementType::f16, ElementType::f16}, 1, 1, 1);
  EXPECT_TRUE(compare(d, {.a = &a, .b = &b, .c = &c}, nullptr).passed);
  b = Float16(128.0F);
  EXPECT_FALSE(compare(d, {.a = &a, .b = &b, .c = &c}, nullptr).passed);
}

TEST(Oracle, SubnormalNarrowFactorsWeighAsTheSmallestNormalNumber) {
  const GemmDescription d = contiguous({ElementType::f16, ElementType::f32}, 1, 1, 2);
  const std::vector<Float16> b{Float16(1.0F), Float16(0x1p-12F)};
  const auto passes = [&](float first, float c) {
    const std::vector<Float16> a{Float16(first), Float16(0x1p-12F)};
    return compare(d, {.a = a.data(), .b = b.data(), .c = &c}, nullptr).passed;
  };
  EXPECT_TRUE(passes(0x1p-24F, 0x1p-23F + 0x1p-37F));
  EXPECT_FALSE(passes(0x1p-24F, 0x1p-23F + 0x1p-34F));
  EXPECT_FALSE(passes(0, 0x1p-24F + 0x1p-37F)) << "zero weighs nothing";
}

TEST(Oracle, OverflowOfOneComponentMayMakeTheOtherNaN) {
  const GemmDescription d = contiguous({ElementType::cf32, ElementType::cf32}, 1, 1, 1);
  const std::complex<float> a(1e20F, 0);
  const std::complex<float> b(1, 1e20F);  // alpha times 1e20 + Inf i: 0 * Inf in the real component
  std::complex<float> c(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(compare(d, {.a = &a, .b = &b, .c = &c}, nullptr).passed);
}

TEST(Oracle, ScalesOfRowsAndColumns) {
  GemmDescription d = contiguous({ElementType::f8e4m3, ElementType::f32}, 4, 4, 40);
  d.row_scales = d.column_scales = true;
  Matrices matrices(d, 3);
  const float rows[] = {3.25F, -1e-3F, 0, 2};
  const float columns[] = {1, 0.3F, -7, 1e4F};
  GemmArguments arguments = matrices.arguments();
  arguments.row_scales = rows;
  arguments.column_scales = columns;
  ASSERT_TRUE(gemm(d, arguments, {.kernel = "cpu_naive"}).ok());
  EXPECT_TRUE(compare(d, arguments, nullptr).passed) << compare(d, arguments, nullptr).failure;
  EXPECT_TRUE(residual(d, arguments, nullptr, 5).passed) << residual(d, arguments, nullptr, 5).failure;
  std::swap(arguments.row_scales, arguments.column_scales);
  EXPECT_FALSE(compare(d, arguments, nullptr).passed);
  std::swap(arguments.row_scales, arguments.column_scales);
  static_cast<float*>(matrices.arguments().c)[3] *= 1 + 1e-4F;
  EXPECT_FALSE(compare(d, arguments, nullptr).passed);
  EXPECT_FALSE(residual(d, arguments, nullptr, 5).passed);
}

TEST(Oracle, IntegersWrapAndMustBeEqual) {
  std::vector<std::int32_t> a{std::numeric_limits<std::int32_t>::max(), 2};
  std::vector<std::int32_t> b{2, 5};
  std::int32_t c = 8;  // 2^32 - 2 + 10 modulo 2^32
  const GemmDescription d = contiguous({ElementType::i32, ElementType::i32}, 1, 1, 2);
  EXPECT_TRUE(compare(d, {.a = a.data(), .b = b.data(), .c = &c}, nullptr).passed);
  EXPECT_TRUE(residual(d, {.a = a.data(), .b = b.data(), .c = &c}, nullptr, 1).passed);
  c = 9;
  EXPECT_FALSE(compare(d, {.a = a.data(), .b = b.data(), .c = &c}, nullptr).passed);
  EXPECT_FALSE(residual(d, {.a = a.data(), .b = b.data(), .c = &c}, nullptr, 1).passed);
}

TEST(Oracle, ResidualSeesOneWrongElement) {
  const GemmDescription d = contiguous({ElementType::f64, ElementType::f64}, 40, 50, 60);
  Matrices matrices(d, 3);
  ASSERT_TRUE(gemm(d, matrices.arguments(), {.kernel = "cpu_naive"}).ok());
  EXPECT_TRUE(residual(d, matrices.arguments(), nullptr, 5).passed);
  static_cast<double*>(matrices.arguments().c)[777] *= 1 + 1e-9;
  EXPECT_FALSE(residual(d, matrices.arguments(), nullptr, 5).passed);
  const ErrorReport report = compare(d, matrices.arguments(), nullptr);
  EXPECT_FALSE(report.passed);
  EXPECT_NE(report.failure.find("C(15, 27)"), std::string::npos) << report.failure;
  EXPECT_EQ(report.rows_checked, 40);
}

TEST(Oracle, SamplesRowsWhenThereAreMany) {
  const GemmDescription d = contiguous({ElementType::f32, ElementType::f32}, 1000, 1000, 1000, 3);
  const std::vector<std::int64_t> rows = verification::rows_to_check(d, 1e8);
  EXPECT_GE(rows.size(), 100U);
  EXPECT_LE(rows.size(), 200U);
  for (const std::int64_t row : {0, 999, 1000, 1999, 2000, 2999})
    EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), row)) << row;
  EXPECT_EQ(verification::rows_to_check(d, 1e12).size(), 3000U);
}

TEST(Oracle, FillsAreReproducible) {
  const OperandLayout row_major{7, 1};
  const OperandLayout column_major{1, 5};
  std::vector<float> first(35);
  std::vector<float> second(35);
  for (const verification::Fill kind : verification::fills_for(ElementType::f32)) {
    verification::fill(kind, 9, ElementType::f32, 5, 7, row_major, 1, first.data());
    verification::fill(kind, 9, ElementType::f32, 5, 7, column_major, 1, second.data());
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t j = 0; j < 7; ++j)
        EXPECT_TRUE(first[i * 7 + j] == second[j * 5 + i] || std::isnan(first[i * 7 + j]));
  }
}

TEST(Oracle, ReproducersNameWhatIsUnusual) {
  verification::Case test{.description = contiguous({ElementType::i8, ElementType::i32}, 3, 5, 7)};
  EXPECT_EQ(verification::reproducer(test),
            "exactile verify --m 3 --n 5 --k 7 --type 'i8->i32' --fill normal --seed 1");
  test.options.kernel = "cpu_naive";
  test.alpha = -2;
  test.beta = 0.5;
  test.description.b = {1, 9};
  test.description.c.pointer_array = true;
  test.description.batch_count = 4;
  test.description.bias = Bias::per_row;
  EXPECT_EQ(verification::reproducer(test),
            "exactile verify --m 3 --n 5 --k 7 --type 'i8->i32' --kernel cpu_naive --fill normal --seed 1 --alpha -2 "
            "--beta 0.5 --batch 4 --layout-a 7,1,0 --layout-b 1,9,0 --layout-c 5,1,pointers --bias per_row");
}

class Guarded : public testing::TestWithParam<GuardedOperand::Flush> {
 protected:
  static std::unique_ptr<GuardedOperand> make(const OperandLayout& layout) {
    auto made = GuardedOperand::make(ElementType::f32, 3, 4, layout, 2, GetParam());
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
  }
};

TEST_P(Guarded, SeesWritesBesideTheElements) {
  const auto operand = make({6, 1, 20});
  auto* data = static_cast<float*>(operand->argument());
  operand->take_snapshot();
  data[0] = 1;
  data[20 + 2 * 6 + 3] = 2;
  EXPECT_FALSE(operand->surroundings_changed());
  EXPECT_TRUE(std::isnan(static_cast<const float*>(operand->before())[0]));
  data[4] = 3;  // between two rows
  EXPECT_TRUE(operand->surroundings_changed());
}

TEST_P(Guarded, PointerArraysRunBackwards) {
  const auto operand = make({4, 1, 0, true});
  auto** pointers = static_cast<float**>(operand->argument());
  EXPECT_EQ(pointers[0] - pointers[1], 12);
  const std::uint64_t digest = operand->digest();
  pointers[1][0] = 5;
  EXPECT_NE(operand->digest(), digest);
}

TEST_P(Guarded, PagesAroundAreForbidden) {
  const auto operand = make({4, 1, 12});
  const volatile float* data = static_cast<float*>(operand->argument());
  const std::int64_t outside = GetParam() == GuardedOperand::Flush::begin ? -1 : 24;
  EXPECT_DEATH(static_cast<void>(data[outside]), "");
}

INSTANTIATE_TEST_SUITE_P(BothWays, Guarded, testing::Values(GuardedOperand::Flush::begin, GuardedOperand::Flush::end));

}  // namespace
}  // namespace exactile::test
