// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu/isa.hpp"
#include "cpu/micro/tile.hpp"

namespace exactile::cpu {

/// The quickest of MicroKernels' tiles for this processor. All leave the same bits.
template <class T>
[[nodiscard]] typename MicroKernels<T>::Kernel choose_tile(const MicroKernels<T>& kernels, AOrder order, int rows,
                                                           int vectors, bool masked) {
  const bool row_by_row =
      vectors == 1 && order == AOrder::rows && kernels.row_tile != nullptr && shuffles_delay_multiply_adds();
  return row_by_row ? kernels.row_tile(rows, masked) : kernels.tile(order, rows, vectors, masked);
}

}  // namespace exactile::cpu
