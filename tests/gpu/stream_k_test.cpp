// SPDX-License-Identifier: Apache-2.0
#include "cuda/tile/stream_k.hpp"

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
  const StreamK stream_k(tiles, clusters, chunks, true);
  std::vector<int> done(static_cast<std::size_t>(tiles), 0);
  std::map<int, Taken> begun;
  for (int cluster = 0; cluster < clusters; ++cluster)
    for (int index = 0; index < stream_k.count(cluster); ++index) {
      const StreamKTile tile = stream_k.at(cluster, index);
      ASSERT_GE(tile.tile, 0);
      ASSERT_LT(tile.tile, tiles);
      ASSERT_GT(tile.chunks, 0);
      done[static_cast<std::size_t>(tile.tile)] += tile.chunks;
      EXPECT_EQ(tile.carries_out, tile.first_chunk + tile.chunks < chunks);
      if (tile.carries_out) {
        EXPECT_EQ(tile.first_chunk, 0) << "begun by one, ended by the next: nobody in between";
        EXPECT_TRUE(begun.emplace(tile.tile, Taken{cluster, index}).second);
      }
      if (tile.first_chunk > 0) {
        ASSERT_TRUE(begun.contains(tile.tile)) << "by a cluster before";
        EXPECT_EQ(begun.at(tile.tile).cluster, cluster - 1);
        EXPECT_EQ(stream_k.at(cluster - 1, begun.at(tile.tile).index).chunks, tile.first_chunk);
        EXPECT_EQ(index, stream_k.count(cluster) - 1) << "last of all";
      }
    }
  for (const int sum : done) EXPECT_EQ(sum, chunks);
}

TEST(StreamK, AreComplete) {
  for (const int clusters : {1, 2, 3, 7, 66})
    for (const int tiles : {0, 1, 2, 5, 6, 7, 8, 13, 14, 65, 66, 67, 131, 132, 133, 272, 1024})
      for (const int chunks : {1, 2, 7, 8, 9, 64, 129}) expect_complete(tiles, clusters, chunks);
}

TEST(StreamK, AreEven) {
  const StreamK stream_k(272, 66, 65, true);
  for (int cluster = 0; cluster < 66; ++cluster) {
    int chunks = 0;
    for (int index = 0; index < stream_k.count(cluster); ++index) chunks += stream_k.at(cluster, index).chunks;
    EXPECT_NEAR(chunks, 272.0 * 65 / 66, 5) << cluster;
  }
}

TEST(StreamK, AreWholeWhereNothingIsIdle) {
  EXPECT_FALSE(StreamK(264, 66, 64, true).splits_tiles());
  EXPECT_FALSE(StreamK(60, 66, 64, true).splits_tiles());
  EXPECT_EQ(StreamK(272, 66, 65, true).data_parallel_tiles(), 198);
}

TEST(StreamK, AreWholeUnlessCutsAreWanted) {
  const StreamK stream_k(272, 66, 65, false);
  EXPECT_FALSE(stream_k.splits_tiles());
  EXPECT_EQ(stream_k.count(0), 5);
  EXPECT_EQ(stream_k.count(65), 4);
  EXPECT_EQ(stream_k.at(7, 4), (StreamKTile{271, 0, 65, false}));
}

}  // namespace
}  // namespace exactile::cuda
