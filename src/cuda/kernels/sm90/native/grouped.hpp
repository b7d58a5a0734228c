// SPDX-License-Identifier: Apache-2.0
/// \file
/// Host side of grouped products: rows of A and C in groups, a B for each group.
#pragma once

#include "cuda/kernels/sm90/native/grouped_plan.hpp"
#include "cuda/kernels/sm90/native/product.hpp"

namespace exactile::cuda::sm90::native {

/// A tile of a group, which is TileCoord::batch, or none where there is no tile any more.
struct GroupTile : TileCoord {
  int begin;  ///< the group's first row, of all rows
  int end;    ///< behind its last

  static constexpr int none = -1;
};

/// What tiles there are is written in device memory.
struct GroupScheduler {
  const std::int64_t* offsets;  ///< where groups begin, and behind them where the last one ends
  int groups;
  int total_rows;
  int columns;  ///< clusters' tiles across
  int strip_rows;

  using Tile = GroupTile;
  static constexpr bool is_grouped = true;
};

template <class Accumulator>
using GroupedParameters = Parameters<Accumulator, GroupScheduler>;

/// Enqueues the kernel of that tile; defined with the kernels of each type.
template <class In>
[[nodiscard]] Status enqueue_grouped_tiles(const GroupedParameters<DeviceAccumulator<In>>& p, TileShape tile, Major b,
                                           int ctas, std::string_view kernel, cudaStream_t stream);

}  // namespace exactile::cuda::sm90::native
