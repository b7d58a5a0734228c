// SPDX-License-Identifier: Apache-2.0
// The compiler's own element types are multiplied as the library's are.
#include <gtest/gtest.h>

#include "exactile/gemm.hpp"

namespace exactile {
namespace {

static_assert(is_element_type<long> && is_element_type<const long long> && is_element_type<std::int8_t> &&
              is_element_type<std::uint8_t> && is_element_type<short>);
static_assert(!is_element_type<unsigned> && !is_element_type<char> && !is_element_type<std::uint16_t> &&
              !is_element_type<bool> && !is_element_type<long double>);

// No typed tests: they ask for the types' names, and a compiler may have _Float16 without its type_info.
template <class T>
void expect_product() {
  const T a[] = {T(1), T(2), T(3), T(4), T(5), T(6)}, b[] = {T(1), T(0), T(0), T(1), T(2), T(2)};
  T c[4] = {};
  const Status status = gemm(MatrixView(a, 2, 3), MatrixView(b, 3, 2), MatrixView(c, 2, 2), {.alpha = 2});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(c[0] == T(14) && c[1] == T(16) && c[2] == T(32) && c[3] == T(34));
}

TEST(NativeTypes, AreMultiplied) {
  expect_product<long>();
  expect_product<long long>();
#if defined(__FLT16_MANT_DIG__) && (defined(__x86_64__) || defined(__clang__) || __GNUC__ >= 13)
  expect_product<_Float16>();
#endif
#ifdef __BFLT16_MANT_DIG__
  expect_product<__bf16>();
#endif
}

}  // namespace
}  // namespace exactile
