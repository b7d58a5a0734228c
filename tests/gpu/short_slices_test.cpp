// SPDX-License-Identifier: Apache-2.0
// Ways that whole products seldom take: simt_f32's slices of K that are shorter than a chunk, and 8-bit floats that
// gemv multiplies by tensor cores. Against the oracle.
#include <algorithm>

#include "gpu/device_product.hpp"

namespace exactile::test {
namespace {

verification::Case pinned(const char* kernel, const std::string& parameters, GemmTypes types, const Shape& s) {
  verification::Case test = contiguous_case(types, s.m, s.n, s.k);
  test.options = {.backend = Backend::cuda, .kernel = kernel, .memory = Memory::device, .parameters = parameters};
  return test;
}

TEST(ShortSlices, OfSmallTilesAreRight) {
  SKIP_WITHOUT_GPU();
  constexpr Shape s{37, 133, 3001};
  Tally tally;
  for (const std::string tile : {"BM=32 BN=32", "BM=8 BN=128"})
    for (const char* const slices : {" SPLIT_K=8", " SPLIT_K=16", " SPLIT_K=32"})
      for (const int direction : {0, 1, 2, 3}) {
        verification::Case test = pinned("simt_f32", tile + slices, {ElementType::f32, ElementType::f32}, s);
        if (direction % 2 == 1) test.description.a = {1, s.m};
        if (direction / 2 == 1) test.description.b = {1, s.k};
        test.beta = direction;
        tally += check_case(test);
      }
  EXPECT_EQ(tally.passed, 2 * 3 * 4);
}

TEST(VectorsOf8BitFloats, AreRightByTensorCores) {
  SKIP_WITHOUT_GPU();
  if (std::ranges::count(cuda_kernels(), "sm90_f64_mma", &KernelOfType::kernel) == 0)
    GTEST_SKIP() << "needs compute capability 9.0";
  struct Sizes {
    std::int64_t n, k;
    int split_k;
  };
  // Among them slices of several chunks, and empty ones at the end of the last cluster.
  const Sizes along_n[] = {{70, 9, 1}, {190, 300, 2}, {132, 1030, 2}, {132, 3400, 1}, {190, 2816, 12}, {190, 3328, 14}};
  const Sizes along_k[] = {{70, 32, 1}, {190, 560, 2}, {300, 1041, 1}, {33, 2600, 3}, {300, 5003, 1}, {70, 6000, 6}};
  Tally tally;
  const auto check = [&](const GemmTypes& types, std::int64_t m, const Sizes& s, bool is_along_k, std::int64_t gap) {
    // Where lines begin anywhere, those along K are of more columns.
    const std::string bn = !is_along_k ? "64" : gap == 0 ? "32" : "256";
    verification::Case test =
        pinned("gemv", "BN=" + bn + " SPLIT_K=" + std::to_string(s.split_k), types, {m, s.n, s.k});
    const std::int64_t stride = ((is_along_k ? s.k : s.n) + 15) / 16 * 16 + gap;
    test.description.b = is_along_k ? OperandLayout{1, stride} : OperandLayout{stride, 1};
    for (test.seed = 1; test.seed <= 2; ++test.seed) {  // W ends, or begins, where a page does
      if ((m + s.split_k) % 2 == static_cast<std::int64_t>(test.seed) % 2) test.description.a = {1, m};
      tally += check_case(test);
      test.description.a = {s.k, 1};
    }
  };
  for (const GemmTypes& types :
       {GemmTypes{ElementType::f8e4m3, ElementType::f32}, GemmTypes{ElementType::f8e5m2, ElementType::bf16}})
    for (const std::int64_t m : {1, 2, 4, 5, 8})
      for (const std::int64_t gap : {0, 5}) {  // lines of whole vectors, or beginning anywhere
        for (const Sizes& s : along_n) check(types, m, s, false, gap);
        for (const Sizes& s : along_k) check(types, m, s, true, gap);
      }
  EXPECT_EQ(tally.passed, 2 * 5 * 2 * (6 + 6) * 2);
}

}  // namespace
}  // namespace exactile::test
