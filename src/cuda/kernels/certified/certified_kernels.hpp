// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products that promise more than `standard`: compensated and correctly rounded.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel cuda_certified;

}  // namespace exactile::cuda
