// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stream-K (Osama, Merrill, Cecka, Garland and Owens, 2023) for a persistent grid whose clusters do not divide the
/// number of tiles: the last tiles are divided by chunks of K, but without partial sums. A tile that two clusters share
/// is begun by the one before: it sums the first chunks as the first thing it does with its share and leaves its sums
/// in memory; the one after sums the last chunks as the last thing it does, and goes on from those sums. So each
/// element is summed in the order in which one cluster would have summed it, to the same bits, and nobody waits long,
/// since what is needed at the end was made at the beginning. Clusters need not be resident together; they must be
/// started in order.
///
/// It has a price beside the sums' way through memory: clusters that are at different places of K do not load the same
/// rows and columns at the same time, so fewer of them come from the L2 cache. "Cluster" may be a single thread block
/// here.
#pragma once

#include <cstdint>

namespace exactile::cuda {

/// A tile, and chunks of its K.
struct StreamKTile {
  int tile;
  int first_chunk;  ///< above 0: begin with the sums that the cluster before has left
  int chunks;
  bool carries_out;  ///< leave the sums to the cluster after: the tile is not done

  friend constexpr bool operator==(const StreamKTile&, const StreamKTile&) = default;
};

class StreamK {
 public:
  StreamK() = default;

  /// `chunks` of K for each tile. The last tiles are divided where `is_wanted`, there are enough, and some would be
  /// left over.
  constexpr StreamK(int tiles, int clusters, int chunks, bool is_wanted)
      : tiles_(tiles), clusters_(clusters), chunks_(chunks) {
    const bool is_split = is_wanted && tiles > clusters && tiles % clusters != 0;
    // The shared part is between one and two tiles a cluster: with less, a tile would pass through many hands.
    data_parallel_ = is_split ? tiles / clusters * clusters - clusters : tiles;
  }

  [[nodiscard]] constexpr bool splits_tiles() const { return data_parallel_ < tiles_; }
  /// Tiles that are not divided (data-parallel): the first ones.
  [[nodiscard]] constexpr int data_parallel_tiles() const { return data_parallel_; }

  /// How many work tiles a cluster has.
  [[nodiscard]] constexpr int count(int cluster) const {
    const int whole = (data_parallel_ - cluster + clusters_ - 1) / clusters_;
    if (!splits_tiles()) return whole;
    const std::int64_t first = cut(cluster);
    const std::int64_t last = cut(cluster + 1);
    return whole + static_cast<int>((last + chunks_ - 1) / chunks_ - first / chunks_);
  }

  /// The index-th work tile of a cluster, in the order in which it must take them.
  [[nodiscard]] constexpr StreamKTile at(int cluster, int index) const {
    const int tile = cluster + index * clusters_;
    if (tile < data_parallel_) return {tile, 0, chunks_, false};
    const std::int64_t first = cut(cluster);
    const std::int64_t last = cut(cluster + 1);
    const bool ends_inside = last % chunks_ != 0;
    int step = index - (data_parallel_ - cluster + clusters_ - 1) / clusters_;
    if (ends_inside && step-- == 0)
      return {data_parallel_ + static_cast<int>(last / chunks_), 0, static_cast<int>(last % chunks_), true};
    // Whole ones after it, and the one it goes on with at the end.
    const int first_whole = static_cast<int>((first + chunks_ - 1) / chunks_);
    const int wholes = static_cast<int>(last / chunks_) - first_whole;
    if (step < wholes) return {data_parallel_ + first_whole + step, 0, chunks_, false};
    const int done = static_cast<int>(first % chunks_);
    return {data_parallel_ + static_cast<int>(first / chunks_), done, chunks_ - done, false};
  }

 private:
  /// Where a cluster's share begins, in chunks from the first shared tile. Not so near to a tile's edge that leaving
  /// and taking sums costs more than it saves.
  [[nodiscard]] constexpr std::int64_t cut(int cluster) const {
    constexpr int least = 4;
    const std::int64_t all = std::int64_t{tiles_ - data_parallel_} * chunks_;
    const std::int64_t at = all * cluster / clusters_;
    const std::int64_t inside = at % chunks_;
    if (inside < least) return at - inside;
    return chunks_ - inside < least ? at - inside + chunks_ : at;
  }

  int tiles_ = 0;
  int clusters_ = 1;
  int chunks_ = 1;
  int data_parallel_ = 0;
};

}  // namespace exactile::cuda
