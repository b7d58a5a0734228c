// SPDX-License-Identifier: Apache-2.0
#include "core/nearest.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace exactile::test {
namespace {

using core::nearest_names;
using core::shortened;

const std::vector<std::string_view> kernels{"cpu_naive",           "portable_blocked", "avx2_f32_fma_6x16",
                                            "avx2_f32_fma_direct", "avx2_f64_fma_6x8", "avx512_f32_fma_12x32",
                                            "opencl_packed"};

TEST(Nearest, NamesWithTheFewestEditsComeFirst) {
  EXPECT_TRUE(nearest_names("cpu_niave", kernels).starts_with("; near it: cpu_naive"));
  EXPECT_TRUE(nearest_names("avx2_f64", kernels).starts_with("; near it: avx2_f64_fma_6x8"));
  EXPECT_TRUE(nearest_names("avx512_f32_fma_12x23", kernels).starts_with("; near it: avx512_f32_fma_12x32"));
}

TEST(Nearest, NamesThatAreFarAreNotSaid) {
  EXPECT_EQ(nearest_names("nosuch", kernels), "");
  EXPECT_EQ(nearest_names("simt_f23", kernels), "");
  EXPECT_EQ(nearest_names("x", {}), "");
  EXPECT_EQ(nearest_names("portable", kernels), "; near it: portable_blocked");
  EXPECT_EQ(nearest_names("avx2_f32", kernels), "; near it: avx2_f32_fma_6x16 or avx2_f32_fma_direct");
}

TEST(Nearest, LongNamesAreCut) {
  const std::string mebibyte(1 << 20, 'x');
  EXPECT_EQ(shortened(mebibyte), std::string(64, 'x') + "...");
  EXPECT_EQ(shortened("cpu"), "cpu");
  const std::string euro = "\xe2\x82\xac";  // a character is not cut
  EXPECT_EQ(shortened(std::string(62, 'x') + euro + "xx"), std::string(62, 'x') + "...");
  EXPECT_EQ(shortened(std::string(61, 'x') + euro + "xx"), std::string(61, 'x') + euro + "...");
  EXPECT_LT(nearest_names(mebibyte, kernels).size(), 200U);
}

}  // namespace
}  // namespace exactile::test
