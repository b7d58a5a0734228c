// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

extern const Kernel outer_product;
extern const Kernel short_sums;

}  // namespace exactile::cuda
