// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels for batches of small products.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel batched_small;

}  // namespace exactile::cuda
