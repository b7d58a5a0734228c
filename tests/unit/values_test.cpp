// SPDX-License-Identifier: Apache-2.0
// The small value types of the public headers: Status, Result, Scalar, MatrixView; and checked sizes.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/checked.hpp"
#include "exactile/exactile.hpp"
#include "exactile/value_or_throw.hpp"

namespace exactile {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

TEST(Values, ResultHasTheOperatorsOfAnOptional) {
  const Result<std::string> good(std::string("here"));
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, "here");
  EXPECT_EQ(good->size(), 4U);
  EXPECT_EQ(good.value_or("there"), "here");
  const Result<std::string> bad(Status(StatusCode::unsupported, "because"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message(), "because");
  EXPECT_EQ(bad.value_or("there"), "there");
  EXPECT_EQ(Result<std::string>(bad).value_or("there"), "there");
}

TEST(Values, ThrowingIsTheProgramsChoice) {
  EXPECT_EQ(value_or_throw(Result<int>(7)), 7);
  EXPECT_NO_THROW(or_throw(Status()));
  try {
    static_cast<void>(value_or_throw(Result<int>(Status(StatusCode::unsupported, "because"))));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::unsupported);
    EXPECT_STREQ(error.what(), "because");
  }
  EXPECT_THROW(or_throw(Status(StatusCode::out_of_memory, "none")), Error);
}

TEST(Values, Status) {
  const Status good;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.code(), StatusCode::ok);
  EXPECT_EQ(good.message(), "");
  const Status bad(StatusCode::unsupported, "because");
  const Status copy = bad;
  EXPECT_FALSE(copy.ok());
  EXPECT_EQ(copy.code(), StatusCode::unsupported);
  EXPECT_EQ(copy.message(), "because");
}

TEST(Values, Result) {
  Result<std::string> good(std::string("value"));
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(good.status().ok());
  EXPECT_EQ(good.value(), "value");
  EXPECT_EQ(std::move(good).value(), "value");
  const Result<std::string> bad(Status(StatusCode::out_of_memory, "none left"));
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message(), "none left");
}

TEST(Values, ScalarKeepsIntegersWhole) {
  const Scalar big(largest);
  EXPECT_TRUE(big.is_integral());
  EXPECT_EQ(big.as<std::int64_t>(), largest);
  EXPECT_EQ(Scalar(smallest).as<std::int64_t>(), smallest);
  EXPECT_EQ(Scalar(std::int64_t{0x1'0000'0003}).as<std::int32_t>(), 3);
  EXPECT_EQ(Scalar(-1).as<std::int32_t>(), -1);
  EXPECT_TRUE(Scalar(0).is_zero());
  EXPECT_TRUE(Scalar(-0.0).is_zero());
  EXPECT_FALSE(Scalar(std::numeric_limits<double>::denorm_min()).is_zero());
  EXPECT_FALSE(Scalar(std::numeric_limits<double>::quiet_NaN()).is_zero());
}

TEST(Values, ScalarKnowsWhatItHolds) {
  EXPECT_TRUE(Scalar(2.0).is_integral());
  EXPECT_FALSE(Scalar(2.5).is_integral());
  EXPECT_FALSE(Scalar(0x1p63).is_integral());
  EXPECT_TRUE(Scalar(-0x1p63).is_integral());
  EXPECT_FALSE(Scalar(std::numeric_limits<double>::infinity()).is_integral());
  EXPECT_FALSE(Scalar(std::numeric_limits<double>::quiet_NaN()).is_integral());
  const Scalar complex(std::complex<double>(1, -2));
  EXPECT_FALSE(complex.is_real());
  EXPECT_FALSE(complex.is_integral());
  EXPECT_FALSE(Scalar(std::complex<double>(0, 1)).is_zero());
  EXPECT_EQ(complex.as<std::complex<float>>(), std::complex<float>(1, -2));
  EXPECT_EQ(Scalar(0.1).as<float>(), 0.1F);
  EXPECT_EQ(Scalar(0.1F).as<float>(), 0.1F);
}

TEST(Values, MatrixViewBlocksAndTransposes) {
  std::vector<int> data(6 * 10);
  for (std::size_t t = 0; t < data.size(); ++t) data[t] = static_cast<int>(t);
  const MatrixView<int> whole(data.data(), 6, 10);
  EXPECT_EQ(whole(2, 3), 23);
  const auto block = whole.submatrix(1, 2, 3, 4);
  EXPECT_EQ(block.rows, 3);
  EXPECT_EQ(block.columns, 4);
  EXPECT_EQ(block(0, 0), 12);
  EXPECT_EQ(block(2, 3), 35);
  const auto turned = block.transposed();
  EXPECT_EQ(turned.rows, 4);
  EXPECT_EQ(turned(3, 2), 35);
  EXPECT_EQ(turned.submatrix(1, 1, 2, 2)(0, 1), 33);
  EXPECT_EQ(turned.transposed()(2, 3), block(2, 3));
  const MatrixView<const int> read_only = block;
  EXPECT_EQ(&read_only(1, 1), &block(1, 1));
  const auto fortran = column_major(data.data(), 6, 10, 6);
  EXPECT_EQ(fortran(5, 0), 5);
  EXPECT_EQ(fortran(0, 1), 6);
}

TEST(Values, CheckedSizes) {
  using core::checked_add;
  using core::checked_multiply;
  EXPECT_EQ(checked_multiply(std::int64_t{1} << 31, std::int64_t{1} << 31), std::int64_t{1} << 62);
  EXPECT_FALSE(checked_multiply(std::int64_t{1} << 32, std::int64_t{1} << 31).has_value());
  EXPECT_FALSE(checked_multiply(smallest, -1).has_value());
  EXPECT_EQ(checked_multiply(smallest, 1), smallest);
  EXPECT_EQ(checked_multiply(largest, 0), 0);
  EXPECT_EQ(checked_add(largest, -1), largest - 1);
  EXPECT_FALSE(checked_add(largest, 1).has_value());
  EXPECT_FALSE(checked_add(smallest, -1).has_value());
  EXPECT_EQ(core::ceil_divide(0, 8), 0);
  EXPECT_EQ(core::ceil_divide(9, 8), 2);
  EXPECT_EQ(core::round_up(8, 8), 8);
  EXPECT_EQ(core::round_up(9, 8), 16);
}

}  // namespace
}  // namespace exactile
