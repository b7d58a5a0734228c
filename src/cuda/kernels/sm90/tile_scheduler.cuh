// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tile scheduler: the order in which the tiles of C are computed (rasterisation). Strips of eight cluster tiles,
/// column by column, so that what is computed at one time is near to square and shares its rows and columns in the L2
/// cache.
#pragma once

#include <cstdint>

namespace exactile::cuda::sm90 {

struct TileCoord {
  int row;
  int column;
  int batch;
};

/// Tile `index` of `rows` x `columns` and as many more as there are batches.
[[nodiscard]] __device__ inline TileCoord rasterised_tile(int index, int rows, int columns, int strip_rows) {
  const int batch = index / (rows * columns);
  const int in_batch = index % (rows * columns);
  const int strip = in_batch / (strip_rows * columns);
  const int in_strip = in_batch % (strip_rows * columns);
  const int height = min(strip_rows, rows - strip * strip_rows);
  return {strip * strip_rows + in_strip % height, in_strip / height, batch};
}

struct TileScheduler {
  int rows;     ///< cluster tiles down
  int columns;  ///< cluster tiles across
  int batches;

  static constexpr int strip_rows = 8;

  [[nodiscard]] __host__ __device__ int count() const { return rows * columns * batches; }

  [[nodiscard]] __device__ TileCoord operator()(int index) const {
    return rasterised_tile(index, rows, columns, strip_rows);
  }
};

}  // namespace exactile::cuda::sm90
