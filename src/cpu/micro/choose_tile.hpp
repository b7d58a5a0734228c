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

/// The tile of the packed loops.
struct LoopTile {
  int rows;
  int vectors;
  bool packs_a;  ///< A whose terms are neighbours, too
};

/// Three vectors of columns need 11 reads for 24 multiply-adds instead of 14, and a packed A is one stream of lines
/// instead of one for each row. Packing a tile pays where several follow it through the same panels of B.
template <class T>
[[nodiscard]] LoopTile choose_loop_tile(const MicroKernels<T>& kernels, std::int64_t m) {
  constexpr int wide = 3;
  const bool is_wide =
      kernels.most_vectors > wide && reads_delay_multiply_adds() && m >= std::int64_t{2} * kernels.rows;
  return is_wide ? LoopTile{kernels.rows_of(wide), wide, true} : LoopTile{kernels.rows, kernels.vectors, false};
}

/// Whether the packed loops' wide tiles compete with direct for products whose B is small: not where few columns or
/// terms leave each element of A or C little use, and memory is the limit.
template <class T>
[[nodiscard]] bool wide_tiles_compete(const MicroKernels<T>& kernels, std::int64_t m, std::int64_t n, std::int64_t k) {
  return choose_loop_tile(kernels, m).packs_a && n >= 128 && k >= 128;
}

}  // namespace exactile::cpu
