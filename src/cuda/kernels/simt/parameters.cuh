// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a SIMT kernel is given, and which part of it a thread block does.
#pragma once

#include "cuda/kernels/simt/division.hpp"
#include "cuda/tile/epilogue.cuh"
#include "cuda/tile/summation_order.hpp"

namespace exactile::cuda::simt {

/// A product whose description is oriented(). Passed to kernels by value.
template <class In, class Out>
struct Parameters {
  GemmDescription d;
  Division division;
  const In* a;
  const In* b;
  Out* c;
  /// split_k == 1 and Out is not what sums: running totals, m x n for each product. split_k > 1: the sums of the
  /// chunks, [product][chunk][m][n].
  DeviceAccumulator<In>* sums;
  Epilogue<In, Out> epilogue;
};

struct WorkTile {
  std::int64_t product;
  std::int64_t row;     ///< first row of the tile
  std::int64_t column;  ///< first column
  std::int64_t chunk_begin;
  std::int64_t chunk_end;
};

/// Blocks that run at the same time take neighbouring tiles, a band of rows at a time, so that they share what they
/// read through L2. K slices of a tile are far apart: they share nothing.
__device__ inline WorkTile work_tile_at(const Division& division, std::uint32_t block, int tile_rows,
                                        int tile_columns) {
  constexpr std::uint32_t band_height = 16;
  const std::uint32_t tiles = division.row_tiles * division.column_tiles;
  const std::uint32_t layer = block / tiles;
  const std::uint32_t tile = block - layer * tiles;
  const std::uint32_t product = layer / division.split_k;
  const std::uint32_t k_slice = layer - product * division.split_k;
  const std::uint32_t band = tile / (band_height * division.column_tiles);
  const std::uint32_t in_band = tile - band * band_height * division.column_tiles;
  const std::uint32_t height = min(band_height, division.row_tiles - band * band_height);
  const std::uint32_t column = in_band / height;
  const std::uint32_t row = band * band_height + (in_band - column * height);
  const std::int64_t chunk_begin = k_slice * division.chunks_per_slice;
  return {product, static_cast<std::int64_t>(row) * tile_rows, static_cast<std::int64_t>(column) * tile_columns,
          chunk_begin, min(chunk_begin + division.chunks_per_slice, division.chunks)};
}

}  // namespace exactile::cuda::simt
