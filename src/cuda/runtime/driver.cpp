// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/driver.hpp"

#include "cuda/kernel.hpp"

namespace exactile::cuda {

void* find_driver_function(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else
  static_cast<void>(version);  // the one that the toolkit's own version had
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : nullptr;
}

/// The runtime's errors have the numbers of the driver's.
Status check_driver(CUresult result, std::string_view call) { return check(static_cast<cudaError_t>(result), call); }

}  // namespace exactile::cuda
