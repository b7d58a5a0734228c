// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels that hand a product on to another kernel, with passes of their own before and after it. Their
/// configurations are those of that kernel, and so are rates and measured products; the passes are in their demands.
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

struct Multiplier {
  const Kernel* kernel;                                      ///< that multiplies
  GemmDescription (*product)(const plan::Problem& problem);  ///< that it is given
  Demand (*passes)(const plan::Problem& problem);            ///< what the passes copy, and how many they are
};

/// Null for a kernel that multiplies such elements itself on devices of that compute capability.
[[nodiscard]] const Multiplier* multiplier_of(const Kernel& kernel, ElementType input, int compute_capability);

}  // namespace exactile::cuda
