// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions of the driver itself. It may be absent: they are looked up, not linked.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include <string_view>

#include "exactile/status.hpp"

namespace exactile::cuda {

/// The function as it is since that version of CUDA (1000 * major + 10 * minor); null where the driver has not got it.
[[nodiscard]] void* find_driver_function(const char* name, unsigned version);

template <class Function>
[[nodiscard]] Function driver_function(const char* name, unsigned version) {
  return reinterpret_cast<Function>(find_driver_function(name, version));
}

[[nodiscard]] Status check_driver(CUresult result, std::string_view call);

}  // namespace exactile::cuda
