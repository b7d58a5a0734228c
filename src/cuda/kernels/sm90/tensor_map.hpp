// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor maps: how TMA finds the elements of a matrix, and in which boxes it moves them.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "exactile/status.hpp"

namespace exactile::cuda::sm90 {

/// A batch of matrices whose columns are contiguous, taken in boxes of box_columns x box_rows.
struct TensorBoxes {
  CUtensorMapDataType type;
  void* data;
  std::int64_t columns;
  std::int64_t rows;
  std::int64_t batches;
  std::int64_t row_bytes;    ///< from row to row; a multiple of 16
  std::int64_t batch_bytes;  ///< a multiple of 16
  int box_columns;           ///< swizzled within 64 or 128 bytes if they are as many
  int box_rows;
  /// What L2 fetches at least, in whole pieces of as many bytes.
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
};

[[nodiscard]] Status make_tensor_map(CUtensorMap& map, const TensorBoxes& boxes);

}  // namespace exactile::cuda::sm90
