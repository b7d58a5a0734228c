// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernel_list.hpp"

#include <array>

#include "cuda/kernels/ladder/ladder_kernels.hpp"
#include "cuda/runtime/entry.hpp"

namespace exactile::cuda {

std::span<const plan::KernelEntry> kernel_list() {
  static const std::array list{
      entry<cuda_naive>(),
  };
  return list;
}

}  // namespace exactile::cuda
