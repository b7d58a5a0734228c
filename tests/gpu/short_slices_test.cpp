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
    const char* parameters;
  };
  const Sizes along_n[] = {{70, 9, "BN=64 SPLIT_K=1"},
                           {190, 300, "BN=64 SPLIT_K=2"},
                           {132, 1030, "BN=64 SPLIT_K=1"},
                           {132, 1030, "BN=64 SPLIT_K=2"}};
  const Sizes along_k[] = {{70, 32, "BN=32 SPLIT_K=1"},
                           {190, 560, "BN=32 SPLIT_K=2"},
                           {300, 1041, "BN=32 SPLIT_K=1"},
                           {33, 2600, "BN=32 SPLIT_K=3"}};
  Tally tally;
  for (const GemmTypes& types :
       {GemmTypes{ElementType::f8e4m3, ElementType::f32}, GemmTypes{ElementType::f8e5m2, ElementType::bf16}})
    for (std::int64_t m = 1; m <= 8; ++m)
      for (const std::int64_t gap : {0, 5}) {  // lines of whole vectors, or beginning anywhere
        for (const Sizes& s : along_n) {
          verification::Case test = pinned("gemv", s.parameters, types, {m, s.n, s.k});
          test.description.b = {(s.n + 15) / 16 * 16 + gap, 1};
          tally += check_case(test);
        }
        for (const Sizes& s : along_k) {
          const std::string parameters = gap == 0 ? s.parameters : "BN=256" + std::string(s.parameters).substr(5);
          verification::Case test = pinned("gemv", parameters, types, {m, s.n, s.k});
          test.description.b = {1, (s.k + 15) / 16 * 16 + gap};
          tally += check_case(test);
        }
      }
  EXPECT_EQ(tally.passed, 2 * 8 * 2 * (4 + 4));
}

}  // namespace
}  // namespace exactile::test
