// SPDX-License-Identifier: Apache-2.0
/// \file Files of rows/, embedded by CMake; the CUDA module brings its own.
#pragma once

#include <string_view>

namespace exactile::tuning {

extern const std::string_view cpu_tsv;
extern const std::string_view opencl_tsv;

}  // namespace exactile::tuning
