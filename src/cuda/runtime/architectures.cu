// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cuda/runtime/device.hpp"

namespace exactile::cuda {

int least_capability_built() {
  return std::min({__CUDA_ARCH_LIST__}) / 10;  // "800,900"
}

}  // namespace exactile::cuda
