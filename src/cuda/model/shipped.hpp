// SPDX-License-Identifier: Apache-2.0
/// \file tuning/rows/cuda.tsv, embedded by CMake.
#pragma once

#include <string_view>

namespace exactile::cuda::model {

extern const std::string_view cuda_tsv;

}  // namespace exactile::cuda::model
