// SPDX-License-Identifier: Apache-2.0
/// \file
/// The steps of the CUDA ladder; each is defined in the file of its name.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel cuda_naive;
extern const Kernel cuda_naive_kahan;
extern const Kernel cuda_row_shared_kahan;
extern const Kernel cuda_row_shared_kahan_pitched;
extern const Kernel cuda_tiled_kahan;
extern const Kernel cuda_tiled;
extern const Kernel cuda_register_blocked;
extern const Kernel cuda_vectorized;
extern const Kernel cuda_pipelined;
extern const Kernel cuda_warp_tiled;

}  // namespace exactile::cuda
