// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which tiles a cluster of a persistent grid computes, where their number is no multiple of the clusters': the last of
/// them are shared out by chunks of K, as in stream-K (Osama, Merrill, Cecka, Garland and Owens, 2023), but without
/// partial sums. A tile that two clusters share is begun by the one before: it sums the first chunks as the first thing
/// it does with its share and leaves its sums in memory; the one after sums the last chunks as the last thing it does,
/// and goes on from those sums. So each element is summed in the order in which one cluster would have summed it, to
/// the same bits, and nobody waits long, since what is needed at the end was made at the beginning. Clusters need not
/// be resident together; they must be started in order.
///
/// It has a price beside the sums' way through memory: clusters that are at different places of K do not load the same
/// lines at the same time, so fewer of them come from the L2 cache. "Cluster" may be a single thread block here.
#pragma once

#include <cstdint>

namespace exactile::cuda {

/// A tile, and chunks of its K.
struct TileShare {
  int tile;
  int first_chunk;  ///< above 0: begin with the sums that the cluster before has left
  int chunks;
  bool is_left;  ///< leave the sums to the cluster after; the tile is not done

  friend constexpr bool operator==(const TileShare&, const TileShare&) = default;
};

class TileShares {
 public:
  TileShares() = default;

  /// `chunks` of K for each tile. Tiles are shared out where `is_wanted`, there are enough, and some would be left
  /// over.
  constexpr TileShares(int tiles, int clusters, int chunks, bool is_wanted)
      : tiles_(tiles), clusters_(clusters), chunks_(chunks) {
    const bool is_shared_out = is_wanted && tiles > clusters && tiles % clusters != 0;
    // The shared part is between one and two tiles a cluster: with less, a tile would pass through many hands.
    whole_ = is_shared_out ? tiles / clusters * clusters - clusters : tiles;
  }

  [[nodiscard]] constexpr bool shares_out() const { return whole_ < tiles_; }
  /// Tiles that are not shared out: the first ones.
  [[nodiscard]] constexpr int whole_tiles() const { return whole_; }

  /// How many shares a cluster has.
  [[nodiscard]] constexpr int count(int cluster) const {
    const int whole = (whole_ - cluster + clusters_ - 1) / clusters_;
    if (!shares_out()) return whole;
    const std::int64_t first = cut(cluster);
    const std::int64_t last = cut(cluster + 1);
    return whole + static_cast<int>((last + chunks_ - 1) / chunks_ - first / chunks_);
  }

  /// The index-th share of a cluster, in the order in which it must take them.
  [[nodiscard]] constexpr TileShare at(int cluster, int index) const {
    const int tile = cluster + index * clusters_;
    if (tile < whole_) return {tile, 0, chunks_, false};
    const std::int64_t first = cut(cluster);
    const std::int64_t last = cut(cluster + 1);
    const bool ends_inside = last % chunks_ != 0;
    int step = index - (whole_ - cluster + clusters_ - 1) / clusters_;
    if (ends_inside && step-- == 0)
      return {whole_ + static_cast<int>(last / chunks_), 0, static_cast<int>(last % chunks_), true};
    // Whole ones after it, and the one it goes on with at the end.
    const int first_whole = static_cast<int>((first + chunks_ - 1) / chunks_);
    const int wholes = static_cast<int>(last / chunks_) - first_whole;
    if (step < wholes) return {whole_ + first_whole + step, 0, chunks_, false};
    const int done = static_cast<int>(first % chunks_);
    return {whole_ + static_cast<int>(first / chunks_), done, chunks_ - done, false};
  }

 private:
  /// Where a cluster's share begins, in chunks from the first shared tile. Not so near to a tile's edge that leaving
  /// and taking sums costs more than it saves.
  [[nodiscard]] constexpr std::int64_t cut(int cluster) const {
    constexpr int least = 4;
    const std::int64_t all = std::int64_t{tiles_ - whole_} * chunks_;
    const std::int64_t at = all * cluster / clusters_;
    const std::int64_t inside = at % chunks_;
    if (inside < least) return at - inside;
    return chunks_ - inside < least ? at - inside + chunks_ : at;
  }

  int tiles_ = 0;
  int clusters_ = 1;
  int chunks_ = 1;
  int whole_ = 0;
};

}  // namespace exactile::cuda
