// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernel_list.hpp"

#include <array>

#include "cpu/naive.hpp"

namespace exactile::cpu {

std::span<const plan::KernelEntry> kernel_list() {
  static const std::array list{naive_entry()};
  return list;
}

}  // namespace exactile::cpu
