// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products that promise more than `standard`: compensated and correctly rounded.
#pragma once

#include "cuda/multiplier.hpp"

namespace exactile::cuda {

extern const Kernel cuda_certified;

/// Null for f64 and cf64, which it sums itself.
[[nodiscard]] const Multiplier* multiplier_of_certified(ElementType input, int compute_capability);

}  // namespace exactile::cuda
