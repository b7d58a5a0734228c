// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cuda/kernel.hpp"

namespace exactile::cuda {
namespace {

/// What there is no context with, so nothing has been computed: another process has the device for itself, the driver
/// was a parent's, or does not start.
bool is_unavailable(cudaError_t error) {
  switch (error) {
    case cudaErrorDevicesUnavailable:
    case cudaErrorInitializationError:
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch: return true;
    default: return false;
  }
}

}  // namespace

Status check(cudaError_t error, std::string_view call, std::string_view kernel) {
  if (error == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());  // said here, and not once more by the check of a later launch
  const StatusCode code = error == cudaErrorMemoryAllocation ? StatusCode::out_of_memory
                          : is_unavailable(error)            ? StatusCode::device_unavailable
                                                             : StatusCode::device_failure;
  return {code, fmt::format("{}{}{}: {} ({})", call, kernel.empty() ? "" : " of ", kernel, cudaGetErrorString(error),
                            cudaGetErrorName(error))};
}

}  // namespace exactile::cuda
