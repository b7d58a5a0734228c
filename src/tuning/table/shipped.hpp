// SPDX-License-Identifier: Apache-2.0
/// \file The files of rows/, embedded by CMake.
#pragma once

#include <string_view>

namespace exactile::tuning {

extern const std::string_view cpu_tsv;
extern const std::string_view cuda_tsv;
extern const std::string_view opencl_tsv;

}  // namespace exactile::tuning
