// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/simt/division.hpp"

#include <gtest/gtest.h>

#include "gpu/h200.hpp"
#include "gpu/row_major.hpp"

namespace exactile::cuda::simt {
namespace {

constexpr TileCost tile{128, 128, 2, 200, 159};
constexpr TileCost few_rows_tile{8, 128, 3, 30, 25};
constexpr int slots = 264;

Division division(std::int64_t m, std::int64_t n, std::int64_t k, ElementType type = ElementType::f32,
                  const TileCost& cost = tile) {
  return divide(test::row_major({type, type}, m, n, k), h200, cost).division;
}

TEST(SimtDivision, SharesTilesOfALastWaveThatIsHalfEmpty) {
  const Division d = division(3000, 3000, 3000);
  EXPECT_EQ(d.splits, 1u);
  EXPECT_EQ(d.sharing, slots);
  EXPECT_EQ(d.whole % slots, 0u);
  std::int64_t terms = 0;
  for (int block = 0; block < slots; ++block)
    for (int index = 0; index < d.shares.count(block); ++index)
      terms += std::int64_t{d.shares.at(block, index).chunks} * share_terms;
  EXPECT_EQ(terms, (d.units(1) - d.whole) * 3008) << "all that the whole tiles leave, in steps of share_terms";
}

TEST(SimtDivision, LeavesTilesWholeWhereWavesAreFull) {
  EXPECT_EQ(division(128 * 12, 128 * 22, 4096).sharing, 0u) << "264 tiles";
  EXPECT_EQ(division(2048, 2048, 2048).sharing, 0u) << "256 tiles";
}

TEST(SimtDivision, IsPricedWithCopiesOfSingleElements) {
  EXPECT_EQ(division(8, 16000, 2048, ElementType::f32, few_rows_tile).splits, 1u);
  EXPECT_EQ(division(8, 16001, 2048, ElementType::f32, few_rows_tile).splits, 2u) << "174 us, and 114 so";
}

TEST(SimtDivision, SharesOnlyWhatItPacks) {
  EXPECT_EQ(division(3000, 3000, 1500).sharing, 0u);
  EXPECT_EQ(division(3000, 3000, 3000, ElementType::i64).sharing, 0u);
}

TEST(SimtDivision, PacksForSmallTilesWhatIsAskedForOften) {
  constexpr TileCost small_tile{32, 32, 8, 22, 17.5};
  const auto packs_b = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
    return divide(test::row_major({ElementType::f32, ElementType::f32}, m, n, k, batch), h200, small_tile).packs_b;
  };
  EXPECT_TRUE(packs_b(513, 513, 513)) << "25 us, and 31 as it lies";
  EXPECT_TRUE(packs_b(1001, 130, 2000)) << "34 us and 49";
  EXPECT_TRUE(packs_b(700, 257, 520)) << "which rows_test.cpp compares with these:";
  EXPECT_FALSE(packs_b(40, 257, 520));
  EXPECT_FALSE(packs_b(33, 3001, 700)) << "24 us and 19: few rows use B";
  EXPECT_FALSE(packs_b(64, 2047, 2048)) << "42 us and 29";
  EXPECT_FALSE(packs_b(512, 512, 512)) << "copied by vectors";
  EXPECT_FALSE(packs_b(513, 513, 513, 2)) << "a kernel packs one matrix";
  EXPECT_FALSE(packs_b(5000, 63, 5000));
  EXPECT_TRUE(packs_b(5000, 65, 5000));
  GemmDescription repeated = test::row_major({ElementType::f32, ElementType::f32}, 500, 3000001, 1 << 20);
  repeated.b.row_stride = 0;
  EXPECT_FALSE(divide(repeated, h200, small_tile).packs_b) << "12 MB, and 12 TB packed";
  GemmDescription other = test::row_major({ElementType::f32, ElementType::f32}, 513, 513, 513);
  other.b.pointer_array = true;
  EXPECT_FALSE(divide(other, h200, small_tile).packs_b) << "where B lies is known on the device alone";
  other.b.pointer_array = false;
  other.a = {.row_stride = 1, .column_stride = 513};
  EXPECT_FALSE(divide(other, h200, small_tile).packs_b) << "such an A leaves no loads of B by vectors";
  constexpr TileCost larger_tile{64, 64, 4, 82, 43};
  const GemmDescription odd = test::row_major({ElementType::f32, ElementType::f32}, 513, 513, 513);
  EXPECT_FALSE(divide(odd, h200, larger_tile).packs_b) << "larger tiles pack larger products only";
  EXPECT_FALSE(divide(odd, h200, few_rows_tile).packs_b) << "such tiles are for few rows, which read B once";
}

TEST(SimtDivision, PacksForSmallTilesOfIntegers) {
  constexpr TileCost small_tile{32, 32, 8, 33, 19.5};
  const auto packs_b = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return divide(test::row_major({ElementType::i32, ElementType::i32}, m, n, k), h200, small_tile).packs_b;
  };
  EXPECT_TRUE(packs_b(700, 257, 520)) << "as packed_b_test.cpp expects";
  EXPECT_TRUE(packs_b(1001, 130, 2000));
  EXPECT_TRUE(packs_b(513, 513, 513));
  EXPECT_FALSE(packs_b(512, 512, 512));
}

TEST(SimtDivision, IsNotPricedWithCopiesThatPackingSpares) {
  const auto seconds = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return divide(test::row_major({ElementType::i32, ElementType::i32}, m, n, k), h200, tile).seconds;
  };
  EXPECT_LT(seconds(3999, 3999, 3999), 1.1 * seconds(4000, 4000, 4000));
  EXPECT_GT(seconds(1501, 1501, 1501), 1.15 * seconds(1504, 1504, 1504)) << "too small to be packed";
}

TEST(SimtDivision, LeavesViewsThatPackingWouldBlowUp) {
  GemmDescription repeated = test::row_major({ElementType::f32, ElementType::f32}, 1536, 60001, 1 << 20);
  EXPECT_TRUE(pays_packing(test::row_major({ElementType::f32, ElementType::f32}, 1536, 16001, 1 << 18), h200, tile));
  repeated.b.row_stride = 0;
  EXPECT_FALSE(pays_packing(repeated, h200, tile)) << "240 KB, and 252 GB packed";
  repeated = test::row_major({ElementType::f32, ElementType::f32}, 60001, 1536, 1 << 20);
  repeated.a.column_stride = 0;
  EXPECT_FALSE(pays_packing(repeated, h200, tile));
}

}  // namespace
}  // namespace exactile::cuda::simt
