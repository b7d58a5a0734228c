// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a product is cut into work tiles that blocks take: tiles of C, and slices of K (split-K).
///
/// K is cut into chunks, each chunk is summed from zero in the order of the tensor core, and the chunks are added in
/// order: the first gives x = fma(beta, C, alpha * sum), or alpha * sum where beta is 0, each further one x = x + alpha
/// * sum; then come bias and activation. So neither the tile nor the device changes a bit of the result. A chunk is
/// `chunk_k`, where a sum is to follow from K alone (cuda_certified asks for 512 under `correctly_rounded`); else all
/// of K, the share of a CTA of a cluster, or a slice whose sums meet others in memory.
#pragma once

#include <cstdint>

#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::dmma {

inline constexpr int block_k = 16;     ///< of K in one stage of shared memory
inline constexpr int chunk_k = 1024;   ///< part of what a reproducible result is, no tuning parameter
inline constexpr int slice_step = 32;  ///< CTAs of a cluster begin at multiples of it: whole stages
inline constexpr int most_ranks = 8;   ///< CTAs of a cluster, on all devices that have clusters

/// Where an operand lies, seen from a tile: `outer` is the stride of rows of A or columns of B, `inner` that of K.
struct Source {
  /// How a stage is filled.
  enum class Path : std::uint8_t {
    elements_k_major,   ///< 8 bytes a copy, neighbouring threads along K
    elements_mn_major,  ///< 8 bytes a copy, neighbouring threads along rows of A or columns of B
    pairs,              ///< 16 bytes a copy; contiguous along the side on which shared memory is contiguous too
  };
  const double* data;
  OperandLayout layout;
  std::int64_t mn;
  std::int64_t k_stride;
  Path path;
  bool pairs_along_k;  ///< 16 bytes a copy would be contiguous along K

  [[nodiscard]] __device__ const double* product(std::int64_t index) const { return product_base(data, layout, index); }
};

/// One launch. Rows and columns may be those of the transposed product.
struct Parameters {
  Source a;
  Source b;
  double* c;
  OperandLayout c_layout;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  double* partials;  ///< sums of chunks where more than one K slice shares an element of C, else null
  std::int64_t partial_rows;
  std::uint32_t tiles_m;
  std::uint32_t tiles_n;
  std::uint32_t split_k;           ///< of K
  std::uint32_t chunks_per_slice;  ///< the last slice may have fewer
  std::uint32_t chunks;
  std::uint32_t k_of_chunk;  ///< see above
  std::uint32_t work_tiles;  ///< tiles * split_k * products
  bool in_clusters;          ///< the slices of a tile, a chunk each, are CTAs of a cluster
  Epilogue<double, double> epilogue;
};

/// What one block does next.
struct WorkTile {
  std::int64_t product;
  std::int64_t row;     ///< of the tile's first element
  std::int64_t column;  ///< of the tile's first element
  std::uint32_t first_chunk;
  std::uint32_t end_chunk;
};

/// Tiles that run at the same time form a compact patch of C, so that they share what they read through L2: bands of so
/// many tile rows.
template <int BM, int BN, int Band = 1024 / BM>
[[nodiscard]] __device__ inline WorkTile work_tile_at(const Parameters& w, std::uint32_t index) {
  constexpr std::uint32_t band = Band;
  const std::uint32_t tiles = w.tiles_m * w.tiles_n;
  const std::uint32_t tile = (w.in_clusters ? index / w.split_k : index) % tiles;
  const std::uint32_t k_slice = (w.in_clusters ? index : index / tiles) % w.split_k;
  const std::uint32_t first_row = tile / (band * w.tiles_n) * band;
  const std::uint32_t rows = min(band, w.tiles_m - first_row);
  const std::uint32_t in_band = tile - first_row * w.tiles_n;
  WorkTile work_tile;
  work_tile.product = index / tiles / w.split_k;
  work_tile.row = static_cast<std::int64_t>(first_row + in_band % rows) * BM;
  work_tile.column = static_cast<std::int64_t>(in_band / rows) * BN;
  work_tile.first_chunk = k_slice * w.chunks_per_slice;
  work_tile.end_chunk = min(work_tile.first_chunk + w.chunks_per_slice, w.chunks);
  return work_tile;
}

/// Where a chunk begins in K, or where it ends as the one before does.
[[nodiscard]] __device__ inline std::int64_t k_at(const Parameters& w, std::uint32_t chunk) {
  return min(static_cast<std::int64_t>(chunk) * w.k_of_chunk, w.k);
}

/// The total of an element after a chunk: `before` is the total so far, or for the first chunk what C held.
[[nodiscard]] __device__ inline double accumulate_chunk(const Epilogue<double, double>& e, bool first, double sum,
                                                        double before) {
  const double x = __dmul_rn(e.alpha, sum);  // rounded before it is added, since L2 has no fma
  if (!first) return __dadd_rn(before, x);
  return e.reads_c ? fma(e.beta, before, x) : x;
}

}  // namespace exactile::cuda::dmma
