// SPDX-License-Identifier: Apache-2.0
/// \file The SIMT engine: a family for each type, all of them instances of tile_kernel.cuh.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel simt_f32;
extern const Kernel simt_f64;
extern const Kernel simt_integer;
extern const Kernel simt_complex;
extern const Kernel simt_native;
extern const Kernel simt_f32_sliced_k;

}  // namespace exactile::cuda
