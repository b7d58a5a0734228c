// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/simt/division.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "gpu/h200.hpp"
#include "gpu/row_major.hpp"

namespace exactile::cuda::simt {
namespace {

constexpr TileSize tile{128, 128, 2};
constexpr TileSize small_tile{32, 32, 8};
constexpr TileSize few_rows_tile{8, 128, 3};

GemmDescription product(std::int64_t m, std::int64_t n, std::int64_t k, ElementType type = ElementType::f32,
                        std::int64_t batch = 1) {
  return test::row_major({type, type}, m, n, k, batch);
}

std::vector<Candidate> candidates_of(const GemmDescription& d, const TileSize& size = tile) {
  return candidates({.description = d, .memory = Memory::device}, h200, size);
}

TEST(SimtDivision, LeavesNoSliceWithoutChunks) {
  Division d;
  d.chunks = d.chunks_per_slice = 9;
  for (const std::int64_t split_k : {1, 2, 3, 4, 5, 8, 9, 16}) {
    const Division split = with_split_k(d, split_k);
    EXPECT_LE(split.split_k, split_k);
    EXPECT_GE(split.split_k * split.chunks_per_slice, 9);
    EXPECT_LT((split.split_k - 1) * split.chunks_per_slice, 9) << split_k;
  }
}

TEST(SimtDivision, AConfigurationIsTheDivisionThatItWasMadeFor) {
  for (const TileSize& size : {tile, small_tile})
    for (const GemmDescription& d : {product(700, 257, 5200), product(4097, 4095, 4099), product(1, 300, 100000),
                                     product(30, 512, 32000), product(30, 512, 7180), product(30, 512, 3008)}) {
      std::set<std::pair<int, int>> seen;
      for (const Candidate& candidate : candidates_of(d, size)) {
        const Configuration& c = candidate.configuration;
        const Division made = division_of(d, size, c);
        EXPECT_EQ(made.split_k, c.split_k);
        EXPECT_EQ(static_cast<double>(made.work_tiles(d.batch_count)), candidate.demand.tiles);
        EXPECT_EQ(std::ceil(static_cast<double>(std::min(d.k, made.chunks_per_slice * made.k_of_chunk)) / step_k),
                  candidate.demand.steps);
        EXPECT_TRUE(seen.emplace(c.split_k, c.pack).second) << c.split_k << " twice for K = " << d.k;
      }
    }
}

TEST(SimtDivision, SlicesOfSmallTilesOfF32MayBeShorterThanAChunk) {
  const auto most_slices = [](ElementType type, const TileSize& size) {
    const GemmDescription d = product(30, 512, 3008, type);
    int most = 0;
    for (const Candidate& candidate : candidates_of(d, size)) {
      const Division made = division_of(d, size, candidate.configuration);
      EXPECT_GE(made.chunks * made.k_of_chunk, 3008);
      EXPECT_LT((made.chunks - 1) * made.k_of_chunk, 3008);
      EXPECT_EQ(made.k_of_chunk % step_k, 0);
      most = std::max(most, candidate.configuration.split_k);
    }
    return most;
  };
  EXPECT_GT(most_slices(ElementType::f32, small_tile), 6);
  EXPECT_EQ(most_slices(ElementType::i32, small_tile), 6);
  EXPECT_EQ(most_slices(ElementType::f32, {64, 64, 6}), 6) << "has the CPU's order";
}

TEST(SimtDivision, ATileOfFewRowsIsForMoreThanHalfOfThem) {
  EXPECT_TRUE(candidates_of(product(4, 300, 5200), few_rows_tile).empty());
  EXPECT_TRUE(candidates_of(product(300, 1, 5200), few_rows_tile).empty());
  EXPECT_FALSE(candidates_of(product(5, 300, 5200), few_rows_tile).empty());
  EXPECT_FALSE(candidates_of(product(4, 300, 5200), small_tile).empty());
  const plan::Problem pinned{
      .description = product(4, 300, 5200), .memory = Memory::device, .parameters = "BM=8 BN=128"};
  EXPECT_FALSE(candidates(pinned, h200, few_rows_tile).empty());
}

TEST(SimtDivision, PacksWhatVectorsDoNotReach) {
  const auto packs = [](const GemmDescription& d, const TileSize& size) { return packing(d, h200, size); };
  EXPECT_TRUE(packs(product(513, 513, 513), small_tile).b);
  EXPECT_FALSE(packs(product(513, 513, 513), small_tile).a) << "small tiles pack B alone";
  EXPECT_TRUE(packs(product(513, 513, 513), tile).a);
  EXPECT_FALSE(packs(product(512, 512, 512), small_tile).any()) << "copied by vectors";
  EXPECT_FALSE(packs(product(513, 513, 513, ElementType::f32, 2), small_tile).any()) << "a kernel packs one matrix";
  EXPECT_FALSE(packs(product(5000, 63, 5000), small_tile).any());
  EXPECT_TRUE(packs(product(5000, 65, 5000), small_tile).b);
  EXPECT_TRUE(packs(product(513, 513, 513, ElementType::i32), small_tile).b);
  EXPECT_FALSE(packs(product(513, 513, 513, ElementType::f64), tile).any());
  EXPECT_FALSE(packs(product(513, 513, 513), few_rows_tile).any()) << "such tiles are for few rows, which read B once";
  GemmDescription other = product(513, 513, 513);
  other.b.pointer_array = true;
  EXPECT_FALSE(packs(other, small_tile).any()) << "where B lies is known on the device alone";
  other.b.pointer_array = false;
  other.a = {.row_stride = 1, .column_stride = 513};
  EXPECT_FALSE(packs(other, small_tile).any()) << "such an A leaves no loads of B by vectors";
}

TEST(SimtDivision, LeavesViewsThatPackingWouldBlowUp) {
  EXPECT_TRUE(packing(product(1536, 16001, 1 << 18), h200, tile).b);
  GemmDescription repeated = product(1536, 60001, 1 << 20);
  repeated.b.row_stride = 0;
  EXPECT_FALSE(packing(repeated, h200, tile).any()) << "240 KB, and 252 GB packed";
  repeated = product(60001, 1536, 1 << 20);
  repeated.a.column_stride = 0;
  EXPECT_FALSE(packing(repeated, h200, tile).any());
  repeated = product(500, 3000001, 1 << 20);
  repeated.b.row_stride = 0;
  EXPECT_FALSE(packing(repeated, h200, small_tile).any()) << "12 MB, and 12 TB packed";
}

}  // namespace
}  // namespace exactile::cuda::simt
