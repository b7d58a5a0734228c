// SPDX-License-Identifier: Apache-2.0
// What CUDA's certified kernels sum and round with, on the host: against core::ExactSum, which is tested against MPFR.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "core/exact_sum.hpp"
#include "cuda/kernels/certified/rounding.cuh"

namespace exactile::test {
namespace {

using namespace cuda::certified;

template <bool IsWide>
struct Numbers {
  using Room = Extent<IsWide>;
  std::array<std::int64_t, Room::digits> sum{};
  std::array<std::int64_t, Room::whole_digits> whole{};
  [[nodiscard]] Digits of_sum() { return {sum.data(), 1, Room::lowest}; }
  [[nodiscard]] Digits of_whole() { return {whole.data(), 1, Room::whole_lowest}; }
};

/// alpha * sum of products + x * y + bias by digits, and by ExactSum. Every fourth sum cancels.
template <bool IsWide, class Part>
void expect_equal_sums(int least, int most) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::uniform_int_distribution<int> exponent(least, most);
  const auto draw = [&] {
    return static_cast<double>(static_cast<Part>(std::ldexp(uniform(random), exponent(random))));
  };
  for (int round = 0; round < 2000; ++round) {
    Numbers<IsWide> numbers;
    core::ExactSum due;
    const auto add = [&](double a, double b) {
      due.add_product(a, b);
      if constexpr (IsWide)
        add_product(numbers.of_sum(), a, b, AddAlone());
      else
        add_narrow_product(numbers.of_sum(), a * b);
    };
    for (int k = 0; k < 40; ++k) {
      const double a = draw();
      const double b = draw();
      add(a, b);
      if (round % 4 == 0) add(-a, b);
    }
    if (round % 4 == 0 && round % 8 != 0) add(draw(), draw());
    if (round % 3 == 0) carry_all(numbers.of_sum(), Extent<IsWide>::digits);
    const double alpha = draw();
    const double x = round % 2 == 0 ? 0 : draw();
    const double y = draw();
    const double bias = round % 5 == 0 ? draw() : 0;
    for (int d = 0; d < Extent<IsWide>::digits; ++d)
      add_scaled(numbers.of_whole(), alpha, numbers.of_sum(), d, AddTogether());
    add_product(numbers.of_whole(), x, y, AddAlone());
    add_number(numbers.of_whole(), bias, AddAlone());
    core::ExactSum whole;
    whole.add_scaled(alpha, due);
    whole.add_product(x, y);
    whole.add(bias);
    for (const core::Format format : {core::Format{24, -149}, core::Format{53, -1074}, core::Format{8, -133}}) {
      Numbers<IsWide> copy = numbers;
      const double computed =
          rounded(copy.of_whole(), Extent<IsWide>::whole_digits, {format.precision, format.lowest_exponent});
      const double expected = whole.rounded(format);
      ASSERT_EQ(computed, expected) << "round " << round << ", " << format.precision << " bits";
      ASSERT_EQ(std::signbit(computed), std::signbit(expected));
    }
  }
}

TEST(DeviceArithmetic, SumsOfF32AreExact) {
  expect_equal_sums<false, float>(-10, 10);
  expect_equal_sums<false, float>(-149, 127);
}

TEST(DeviceArithmetic, SumsOfF64AreExact) {
  expect_equal_sums<true, double>(-10, 10);
  expect_equal_sums<true, double>(-500, 500);
  expect_equal_sums<true, double>(-1074, 300);
}

template <class Out>
void expect_right_rounding() {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::uniform_int_distribution<int> small(-3, 3);
  const core::Format format{format_of<Out>.precision, format_of<Out>.lowest_exponent};
  int certain = 0;
  for (int round = 0; round < 20000; ++round) {
    // Near the middle between two numbers, near the smallest one, and anywhere.
    const double unit = std::ldexp(1.0, -format.precision);
    double high = round % 3 == 0
                      ? 1 + unit * (2 * small(random) + 1)
                      : std::ldexp(uniform(random), round % 3 == 1 ? format.lowest_exponent + small(random) : 0);
    const double low = high * std::ldexp(1.0, -53 - 20 * (round % 2)) * small(random) / 3;
    if (std::fabs(high) < 0x1p-1000) high = 0;
    core::ExactSum exact;
    exact.add(high);
    exact.add(low);
    ASSERT_EQ(rounded_sum<Out>(high, low), exact.rounded(format)) << high << " + " << low;
    Interval value;
    value.add(high);
    value.add_product(low, 1);
    value.error += std::fabs(high) * std::ldexp(1.0, -60) * (round % 4);
    double result = 0;
    if (!round_certainly<Out>(value, result)) continue;
    ++certain;
    for (const double end : {-value.error, value.error}) {
      core::ExactSum at_end = exact;
      at_end.add(end);
      ASSERT_EQ(result, at_end.rounded(format)) << high << " + " << low << " + " << end;
    }
  }
  EXPECT_GT(certain, 10000);
  EXPECT_LT(certain, 20000);
}

TEST(DeviceArithmetic, CertainRoundingIsRight) {
  expect_right_rounding<float>();
  expect_right_rounding<double>();
  expect_right_rounding<__half>();
  expect_right_rounding<__nv_bfloat16>();
}

TEST(DeviceArithmetic, ExactSumsAreCertainAtTies) {
  Interval value;
  value.add_product(3, 1 + 0x1p-23);
  value.add_product(1, 0x1p-24);
  double result = 0;
  EXPECT_TRUE(round_certainly<float>(value, result));
  EXPECT_EQ(result, static_cast<double>(3 + 0x1p-21F));
}

}  // namespace
}  // namespace exactile::test
