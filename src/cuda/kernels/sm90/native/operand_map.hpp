// SPDX-License-Identifier: Apache-2.0
/// \file
/// How TMA reads an operand: tensor maps of A and B.
#pragma once

#include <algorithm>

#include "core/checked.hpp"
#include "cuda/kernels/sm90/native/product.hpp"
#include "cuda/kernels/sm90/tensor_map.hpp"

namespace exactile::cuda::sm90::native {

[[nodiscard]] inline CUtensorMapDataType map_type(ElementType type) {
  switch (type) {
    case ElementType::f8e4m3:
    case ElementType::f8e5m2:
    case ElementType::i8: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case ElementType::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case ElementType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case ElementType::i32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
    default: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  }
}

/// An operand as TMA reads it: in place, or its copy in the workspace.
struct Source {
  const void* data;
  Major major;
  std::int64_t pitch;        ///< elements along M or N (K-major) or along K (MN-major)
  std::int64_t batch_pitch;  ///< elements from matrix to matrix
};

/// Matrices of mn x k elements, `count` of them.
struct SourceSize {
  std::int64_t mn;
  std::int64_t k;
  std::int64_t count;
};

/// Rows (columns) of a tile that so many CTAs load together: no more than there are, each whole swizzles.
[[nodiscard]] inline int loaded(Major major, std::int64_t mn, int tile_mn, int shares) {
  if (major == Major::mn) return tile_mn;
  return static_cast<int>(std::min<std::int64_t>(tile_mn, core::round_up(mn, 8 * shares)));
}

/// `shares`: CTAs that load a tile together: each some rows (columns), or some of the k.
[[nodiscard]] inline Status map_operand(CUtensorMap& map, const Source& source, const SourceSize& size,
                                        const LaunchConfig& config, int tile_mn, int shares) {
  const std::int64_t bytes = size_in_bytes(config.multiplied);
  const bool k_major = source.major == Major::k;
  const std::int64_t matrix = source.pitch * (k_major ? size.mn : size.k);
  const int box_k = shares_boxes(tile_mn, shares) ? 64 : 64 / shares;
  return make_tensor_map(map, {.type = map_type(config.multiplied),
                               .data = const_cast<void*>(source.data),
                               .columns = k_major ? size.k : size.mn,
                               .rows = k_major ? size.mn : size.k,
                               .batches = size.count,
                               .row_bytes = source.pitch * bytes,
                               .batch_bytes = (size.count == 1 ? matrix : source.batch_pitch) * bytes,
                               .box_columns = static_cast<int>(128 / bytes),
                               .box_rows = k_major ? loaded(source.major, size.mn, tile_mn, shares) / shares : box_k,
                               // Of 256 bytes other CTAs take a half, which costs 8 % of the bandwidth; so do rows
                               // that straddle lines of L2.
                               .promotion = streams_a(config.tile) || source.pitch * bytes % 128 != 0
                                                ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
                                                : CU_TENSOR_MAP_L2_PROMOTION_L2_256B});
}

}  // namespace exactile::cuda::sm90::native
