// SPDX-License-Identifier: Apache-2.0
/// \file The SIMT engine: one kernel for each tile and type. docs/ladder/simt.md explains them.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel simt_f32_128x128;
extern const Kernel simt_f32_64x64;

}  // namespace exactile::cuda
