// SPDX-License-Identifier: Apache-2.0
#include "cuda/multiplier.hpp"

#include "cuda/kernels/kernels.hpp"

namespace exactile::cuda {

const Multiplier* multiplier_of(const Kernel& kernel, ElementType input, int compute_capability) {
  return &kernel == &cuda_certified ? multiplier_of_certified(input, compute_capability)
                                    : multiplier_of_complex(kernel, compute_capability);
}

}  // namespace exactile::cuda
