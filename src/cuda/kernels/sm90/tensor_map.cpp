// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/tensor_map.hpp"

#include <algorithm>
#include <array>

#include "cuda/runtime/driver.hpp"

namespace exactile::cuda::sm90 {
namespace {

int bytes_of(CUtensorMapDataType type) {
  if (type == CU_TENSOR_MAP_DATA_TYPE_UINT8) return 1;
  if (type == CU_TENSOR_MAP_DATA_TYPE_FLOAT64) return 8;
  return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_INT32 ? 4 : 2;
}

}  // namespace

Status make_tensor_map(CUtensorMap& map, const TensorBoxes& boxes) {
  static const auto encode = driver_function<PFN_cuTensorMapEncodeTiled_v12000>("cuTensorMapEncodeTiled", 12000);
  if (encode == nullptr) return {StatusCode::device_failure, "the driver has no cuTensorMapEncodeTiled"};

  const std::array<cuuint64_t, 3> sizes{static_cast<cuuint64_t>(boxes.columns), static_cast<cuuint64_t>(boxes.rows),
                                        static_cast<cuuint64_t>(boxes.batches)};
  const std::array<cuuint64_t, 2> strides{static_cast<cuuint64_t>(boxes.row_bytes),
                                          static_cast<cuuint64_t>(boxes.batch_bytes)};
  const std::array<cuuint32_t, 3> box{static_cast<cuuint32_t>(boxes.box_columns),
                                      static_cast<cuuint32_t>(boxes.box_rows), 1};
  const std::array<cuuint32_t, 3> steps{1, 1, 1};
  const int element_bytes = bytes_of(boxes.type);
  const int box_bytes = boxes.box_columns * element_bytes;
  const CUtensorMapSwizzle swizzle = box_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : box_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                       : CU_TENSOR_MAP_SWIZZLE_NONE;
  const CUresult result =
      encode(&map, boxes.type, 3, boxes.data, sizes.data(), strides.data(), box.data(), steps.data(),
             CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, boxes.promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return check_driver(result, "cuTensorMapEncodeTiled");
}

}  // namespace exactile::cuda::sm90
