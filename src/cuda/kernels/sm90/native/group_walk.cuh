// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tiles of grouped products: group after group, found from offsets that are read while the kernel runs.
#pragma once

#include "cuda/kernels/sm90/native/grouped.hpp"
#include "cuda/kernels/sm90/native/mainloop.cuh"
#include "cuda/kernels/sm90/native/store_boxes.cuh"

namespace exactile::cuda::sm90::native {

/// A producer warp's way through the tiles. It knows 32 groups at a time, one a lane, and only goes forward. By whole
/// warps.
///
/// What the offsets say is not trusted: group g has the rows from the largest of offsets 0 to g to the largest of 0 to
/// g + 1, of those that there are. So no two groups have a row in common.
template <int tile_m>
class GroupWalk {
 public:
  __device__ explicit GroupWalk(const GroupScheduler& scheduler) : s_(scheduler) { look(0, row_at(0), 0); }

  /// Tile `index`, which is not before the last that was asked for; false: there are not so many.
  [[nodiscard]] __device__ bool find(int index, GroupTile& tile) {
    unsigned later;
    while ((later = __ballot_sync(~0u, tiles_ > index)) == 0) {
      if (first_group_ + 32 >= s_.groups) return false;
      look(first_group_ + 32, of_lane(end_, 31), of_lane(tiles_, 31));
    }
    const int lane = __ffs(static_cast<int>(later)) - 1;
    const int begin = of_lane(begin_, lane), end = of_lane(end_, lane);
    const int rows = tiles_down(begin, end);
    const int in_group = index - (of_lane(tiles_, lane) - rows * s_.columns);
    tile = {rasterised_tile(in_group, rows, s_.columns, s_.strip_rows), begin, end};
    tile.batch = first_group_ + lane;
    return true;
  }

 private:
  [[nodiscard]] __device__ static int of_lane(int x, int lane) { return __shfl_sync(~0u, x, lane); }
  [[nodiscard]] __device__ static int tiles_down(int begin, int end) { return (end - begin + tile_m - 1) / tile_m; }
  [[nodiscard]] __device__ int row_at(int group) const {
    const std::int64_t row = s_.offsets[group];
    return static_cast<int>(min(max(row, std::int64_t{0}), static_cast<std::int64_t>(s_.total_rows)));
  }

  /// At 32 groups, before which rows and tiles end there.
  __device__ void look(int first_group, int row, int tiles) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    first_group_ = first_group;
    end_ = first_group + lane < s_.groups ? max(row, row_at(first_group + lane + 1)) : row;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int before = __shfl_up_sync(~0u, end_, step);
      if (lane >= step) end_ = max(end_, before);
    }
    const int before = __shfl_up_sync(~0u, end_, 1);
    begin_ = lane == 0 ? row : before;
    tiles_ = tiles_down(begin_, end_) * s_.columns + (lane == 0 ? tiles : 0);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int in_groups_before = __shfl_up_sync(~0u, tiles_, step);
      if (lane >= step) tiles_ += in_groups_before;
    }
  }

  const GroupScheduler& s_;
  int first_group_;
  int begin_;  ///< rows of this lane's group
  int end_;
  int tiles_;  ///< of this lane's group and all before it
};

/// Where the first block of a tile lies, consumers find which tile it is.
struct GroupTiles {
  GroupTile of_stage[most_stages];

  /// By a thread of the producer, before it arrives at the stage's barrier.
  __device__ void announce(int stage, const GroupTile& tile) { of_stage[stage] = tile; }
  /// By a whole consumer warp behind that barrier, and before it gives the stage back.
  [[nodiscard]] __device__ GroupTile at(int stage) const {
    const GroupTile tile = of_stage[stage];
    return {{isa::warp_uniform(tile.row), isa::warp_uniform(tile.column), isa::warp_uniform(tile.batch)},
            isa::warp_uniform(tile.begin),
            isa::warp_uniform(tile.end)};
  }
};

/// A producer warp's last act but one, where its turn has come to load A: no tile follows.
template <class T>
__device__ inline void announce_end(const PipelineAddresses<T>& pipeline, GroupTiles& tiles,
                                    const PipelineState& state) {
  isa::mbarrier_wait(pipeline.empty_of(state.stage), state.parity ^ 1);
  if (!isa::elect_one()) return;
  tiles.announce(state.stage, {{0, 0, GroupTile::none}, 0, 0});
  isa::mbarrier_arrive_expect(pipeline.full_of(state.stage), 0);
}

/// Of products that are no groups: each warp works out by itself which tile is next.
struct NoTiles {};

/// The row that a tile's rows are counted from.
[[nodiscard]] __device__ inline int first_row_of(const TileCoord&) { return 0; }
[[nodiscard]] __device__ inline int first_row_of(const GroupTile& tile) { return tile.begin; }

/// Which rows of a tile are stored, and where C's tensor map has them. `rows`: of C.
__device__ inline void find_rows(FragmentCoord& at, const TileCoord& tile, int rows) {
  at.batch = at.box_batch = tile.batch;
  at.row_end = rows;
  at.box_row = at.row + warp_rows * at.warp;
}
/// The map has matrices of a warp's rows that overlap, each a row further on: what would lie behind the group's last
/// row lies outside of the matrix that is taken, so TMA leaves it out.
__device__ inline void find_rows(FragmentCoord& at, const GroupTile& tile, int) {
  const int row = at.row + warp_rows * at.warp;
  const int rows = max(0, min(warp_rows, tile.end - row));
  at.group = tile.batch;
  at.row_end = tile.end;
  at.box_row = warp_rows - rows;
  at.box_batch = row + rows;
}

}  // namespace exactile::cuda::sm90::native
