// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/sm90/tensor_map.hpp"

#include <cudaTypedefs.h>

#include <algorithm>
#include <array>
#include <string>

namespace exactile::cuda::sm90 {
namespace {

/// cuTensorMapEncodeTiled belongs to the driver, which may be absent: it is looked up, not linked.
PFN_cuTensorMapEncodeTiled_v12000 find_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

int bytes_of(CUtensorMapDataType type) {
  if (type == CU_TENSOR_MAP_DATA_TYPE_UINT8) return 1;
  if (type == CU_TENSOR_MAP_DATA_TYPE_FLOAT64) return 8;
  return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_INT32 ? 4 : 2;
}

}  // namespace

Status make_tensor_map(CUtensorMap& map, const TensorBoxes& boxes) {
  static const auto encode = find_encoder();
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
  if (result != CUDA_SUCCESS)
    return {StatusCode::device_failure, "cuTensorMapEncodeTiled: error " + std::to_string(static_cast<int>(result))};
  return {};
}

}  // namespace exactile::cuda::sm90
