// SPDX-License-Identifier: Apache-2.0
#include "cuda/tile/divisor.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace exactile::cuda {
namespace {

constexpr int largest = std::numeric_limits<int>::max();

/// Where a quotient that is a little off would show: around multiples of the divisor, small, middling and the last.
void check_around_multiples(int divisor) {
  const Divisor by(divisor);
  const int last = largest / divisor;
  for (const int multiple : {0, 1, 2, 3, last / 3, last / 2, last - 1, last})
    for (int off = -1; off <= 1; ++off) {
      const std::int64_t x = std::int64_t{multiple} * divisor + off;
      if (x < 0 || x > largest) continue;
      ASSERT_EQ(by.quotient(static_cast<int>(x)), x / divisor) << x << " / " << divisor;
    }
  ASSERT_EQ(by.quotient(largest), largest / divisor) << divisor;
}

TEST(Divisor, DividesAsTheLanguageDoes) {
  for (int divisor = 1; divisor <= 5000; ++divisor) check_around_multiples(divisor);
  for (int bit = 12; bit < 31; ++bit)
    for (int off = -3; off <= 3; ++off) check_around_multiples((1 << bit) + off);
  for (int off = 0; off < 100; ++off) check_around_multiples(largest - off * off * 9973);
}

TEST(Divisor, DividesEverySmallNumber) {
  for (int divisor = 1; divisor <= 300; ++divisor) {
    const Divisor by(divisor);
    for (int x = 0; x < 5000; ++x) ASSERT_EQ(by.quotient(x), x / divisor) << x << " / " << divisor;
  }
}

}  // namespace
}  // namespace exactile::cuda
