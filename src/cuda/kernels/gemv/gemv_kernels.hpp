// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel gemv;

}  // namespace exactile::cuda
