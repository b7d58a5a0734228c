// SPDX-License-Identifier: Apache-2.0
#include "cuda/tile/tile_shares.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace exactile::cuda {
namespace {

struct Taken {
  int cluster;
  int index;
};

/// Every chunk of every tile once and in order; a tile that is cut is begun by the cluster before the one that ends it.
void expect_complete(int tiles, int clusters, int chunks) {
  SCOPED_TRACE(testing::Message() << tiles << " tiles, " << clusters << " clusters, " << chunks << " chunks");
  const TileShares shares(tiles, clusters, chunks, true);
  std::vector<int> done(static_cast<std::size_t>(tiles), 0);
  std::map<int, Taken> begun;
  for (int cluster = 0; cluster < clusters; ++cluster)
    for (int index = 0; index < shares.count(cluster); ++index) {
      const TileShare share = shares.at(cluster, index);
      ASSERT_GE(share.tile, 0);
      ASSERT_LT(share.tile, tiles);
      ASSERT_GT(share.chunks, 0);
      done[static_cast<std::size_t>(share.tile)] += share.chunks;
      EXPECT_EQ(share.is_left, share.first_chunk + share.chunks < chunks);
      if (share.is_left) {
        EXPECT_EQ(share.first_chunk, 0) << "begun by one, ended by the next: nobody in between";
        EXPECT_TRUE(begun.emplace(share.tile, Taken{cluster, index}).second);
      }
      if (share.first_chunk > 0) {
        ASSERT_TRUE(begun.contains(share.tile)) << "by a cluster before";
        EXPECT_EQ(begun.at(share.tile).cluster, cluster - 1);
        EXPECT_EQ(shares.at(cluster - 1, begun.at(share.tile).index).chunks, share.first_chunk);
        EXPECT_EQ(index, shares.count(cluster) - 1) << "last of all";
      }
    }
  for (const int sum : done) EXPECT_EQ(sum, chunks);
}

TEST(TileShares, AreComplete) {
  for (const int clusters : {1, 2, 3, 7, 66})
    for (const int tiles : {0, 1, 2, 5, 6, 7, 8, 13, 14, 65, 66, 67, 131, 132, 133, 272, 1024})
      for (const int chunks : {1, 2, 7, 8, 9, 64, 129}) expect_complete(tiles, clusters, chunks);
}

TEST(TileShares, AreEven) {
  const TileShares shares(272, 66, 65, true);
  for (int cluster = 0; cluster < 66; ++cluster) {
    int chunks = 0;
    for (int index = 0; index < shares.count(cluster); ++index) chunks += shares.at(cluster, index).chunks;
    EXPECT_NEAR(chunks, 272.0 * 65 / 66, 5) << cluster;
  }
}

TEST(TileShares, AreWholeWhereNothingIsIdle) {
  EXPECT_FALSE(TileShares(264, 66, 64, true).shares_out());
  EXPECT_FALSE(TileShares(60, 66, 64, true).shares_out());
  EXPECT_EQ(TileShares(272, 66, 65, true).whole_tiles(), 198);
}

TEST(TileShares, AreWholeUnlessCutsAreWanted) {
  const TileShares shares(272, 66, 65, false);
  EXPECT_FALSE(shares.shares_out());
  EXPECT_EQ(shares.count(0), 5);
  EXPECT_EQ(shares.count(65), 4);
  EXPECT_EQ(shares.at(7, 4), (TileShare{271, 0, 65, false}));
}

}  // namespace
}  // namespace exactile::cuda
