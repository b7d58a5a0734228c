// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "exactile/types.hpp"

namespace exactile::cuda {

/// Starts products of the tensor cores that wait for nothing (wgmma, operands in shared memory) on all SMs, and returns
/// how many operations they are; 0 for types that wgmma is not used for here.
[[nodiscard]] double launch_sm90_tensor_peak(ElementType type, int sm_count, cudaStream_t stream);

}  // namespace exactile::cuda
