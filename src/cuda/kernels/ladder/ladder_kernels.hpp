// SPDX-License-Identifier: Apache-2.0
/// \file
/// The steps of the CUDA ladder; each is defined in the file of its name.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel cuda_naive;

}  // namespace exactile::cuda
