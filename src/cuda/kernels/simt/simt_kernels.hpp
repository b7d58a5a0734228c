// SPDX-License-Identifier: Apache-2.0
/// \file The SIMT engine: a kernel for each type and size of tile, all of them instances of tile_kernel.cuh.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel simt_f32_128x128;
extern const Kernel simt_f32_64x128;
extern const Kernel simt_f32_64x64;
extern const Kernel simt_f32_32x32;
extern const Kernel simt_f64_64x64;
extern const Kernel simt_f32_8x128;
extern const Kernel simt_f32_pieces;
extern const Kernel simt_f32_few_rows;
extern const Kernel simt_f64_few_rows;
extern const Kernel simt_i32_128x128;
extern const Kernel simt_i32_32x32;
extern const Kernel simt_i64_64x64;
extern const Kernel simt_cf32_64x64;
extern const Kernel simt_cf64_64x32;
extern const Kernel simt_narrow_64x64;

}  // namespace exactile::cuda
