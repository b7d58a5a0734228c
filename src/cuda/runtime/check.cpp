// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cuda/kernel.hpp"

namespace exactile::cuda {

Status check(cudaError_t error, std::string_view call, std::string_view kernel) {
  if (error == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());  // said here, and not once more by the check of a later launch
  const StatusCode code = error == cudaErrorMemoryAllocation ? StatusCode::out_of_memory : StatusCode::device_failure;
  return {code, fmt::format("{}{}{}: {} ({})", call, kernel.empty() ? "" : " of ", kernel, cudaGetErrorString(error),
                            cudaGetErrorName(error))};
}

}  // namespace exactile::cuda
