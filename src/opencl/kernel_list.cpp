// SPDX-License-Identifier: Apache-2.0
#include "opencl/kernel_list.hpp"

#include <array>

#include "opencl/executable.hpp"
#include "opencl/families/blocked.hpp"
#include "opencl/families/certified.hpp"
#include "opencl/families/packed.hpp"
#include "opencl/families/tiled.hpp"

namespace exactile::opencl {

std::span<const plan::KernelEntry> kernel_list() {
  static const std::array list{
      entry<packed>(),           entry<deep>(),    entry<direct>(), entry<prefetch>(),    entry<padded>(),
      entry<register_blocked>(), entry<vectors>(), entry<tiled>(),  entry<tiled_kahan>(), entry<certified>(),
  };
  return list;
}

}  // namespace exactile::opencl
