// SPDX-License-Identifier: Apache-2.0
/// \file Puts the micro-kernels of kinds whose operands are always packed into their tables.
#pragma once

#include "cpu/micro/highway_kernels.hpp"
#include "cpu/micro/highway_pack_groups.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// Tiles of up to `Sums` / 2 rows.
template <class K, AOrder Order, int Sums, int Vectors>
typename MicroKernels<K>::Kernel find_packed_tile(int rows, bool masked) {
  using Heights = std::make_integer_sequence<int, Sums / (Vectors > 2 ? Vectors : 2)>;
  static constexpr std::array table{heights<K, Order, Vectors, false>(Heights()),
                                    heights<K, Order, Vectors, true>(Heights())};
  return table[masked ? 1 : 0][static_cast<std::size_t>(rows - 1)];
}

template <class K, int Sums>
typename MicroKernels<K>::Kernel find_any_packed_tile(AOrder order, int rows, int vectors, bool masked) {
  if constexpr (most_vectors<Lane<K>> == 4)
    if (vectors == 3) return find_packed_tile<K, AOrder::columns, Sums, 3>(rows, masked);
  if (order == AOrder::columns)
    return vectors == 2 ? find_packed_tile<K, AOrder::columns, Sums, 2>(rows, masked)
                        : find_packed_tile<K, AOrder::columns, Sums, 1>(rows, masked);
  return vectors == 2 ? find_packed_tile<K, AOrder::rows, Sums, 2>(rows, masked)
                      : find_packed_tile<K, AOrder::rows, Sums, 1>(rows, masked);
}

template <class K, int Sums>
typename MicroKernels<K>::AskingKernel find_any_asking_packed_tile(AOrder order, int rows, int vectors) {
  if constexpr (most_vectors<Lane<K>> == 4) {
    static constexpr auto wide = asking_heights<K, AOrder::columns, 3>(std::make_integer_sequence<int, Sums / 3>());
    if (vectors == 3) return wide[static_cast<std::size_t>(rows - 1)];
  }
  return find_asking_tile<K, 2, Sums / 2>(order, rows);
}

/// `Sums`: as of kernels().
template <class K, int Sums, int Instructions = 1>
const MicroKernels<K>& packed_kernels() {
  static constexpr MicroKernels<K> table{.tile = &find_any_packed_tile<K, Sums>,
                                         .asking_tile = &find_any_asking_packed_tile<K, Sums>,
                                         .add_sums = &add_sums<Sum<K>>,
                                         .pack_a = &pack_groups<K, false>,
                                         .pack_b = &pack_groups<K, true>,
                                         .copy_a = &copy_row_of_a<K>,
                                         .lanes = lane_count<Lane<K>>,
                                         .vectors = 2,
                                         .rows = Sums / 2,
                                         .most_vectors = most_vectors<Lane<K>>,
                                         .sums = Sums,
                                         .instructions = Instructions};
  return table;
}

/// The tiles of f32 themselves.
template <class Narrow>
MicroKernels<Widened<Narrow>> widened_kernels(const MicroKernels<float>& f32) {
  using K = Widened<Narrow>;
  return {.tile = f32.tile,
          .asking_tile = f32.asking_tile,
          .add_sums = f32.add_sums,
          .pack_a = &pack_groups<K, false>,
          .pack_b = &pack_groups<K, true>,
          .copy_a = &copy_row_of_a<K>,
          .lanes = f32.lanes,
          .vectors = f32.vectors,
          .rows = f32.rows,
          .most_vectors = f32.most_vectors,
          .sums = f32.sums,
          .instructions = f32.instructions};
}

}  // namespace exactile::cpu::HWY_NAMESPACE
