// SPDX-License-Identifier: Apache-2.0
/// \file Puts the micro-kernels of kinds whose operands are always packed into their tables.
#pragma once

#include "cpu/micro/highway_kernels.hpp"
#include "cpu/micro/highway_pack_groups.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// Three vectors spare reads, which several instructions for each multiply-add do not wait for.
template <class K, int Instructions>
inline constexpr int most_packed_vectors = sizeof(Vector<Number<Lane<K>>>) == 64 && Instructions == 1 ? 4 : 2;

/// Tiles of up to `Sums` / 2 rows.
template <class K, AOrder Order, int Sums, int Vectors>
typename MicroKernels<K>::Kernel find_packed_tile(int rows, bool masked) {
  using Heights = std::make_integer_sequence<int, Sums / (Vectors > 2 ? Vectors : 2)>;
  static constexpr std::array table{heights<K, Order, Vectors, false>(Heights()),
                                    heights<K, Order, Vectors, true>(Heights())};
  return table[masked ? 1 : 0][static_cast<std::size_t>(rows - 1)];
}

template <class K, int Sums, int Instructions>
typename MicroKernels<K>::Kernel find_any_packed_tile(AOrder order, int rows, int vectors, bool masked) {
  if constexpr (most_packed_vectors<K, Instructions> == 4)
    if (vectors == 3) return find_packed_tile<K, AOrder::columns, Sums, 3>(rows, masked);
  if (order == AOrder::columns)
    return vectors == 2 ? find_packed_tile<K, AOrder::columns, Sums, 2>(rows, masked)
                        : find_packed_tile<K, AOrder::columns, Sums, 1>(rows, masked);
  return vectors == 2 ? find_packed_tile<K, AOrder::rows, Sums, 2>(rows, masked)
                      : find_packed_tile<K, AOrder::rows, Sums, 1>(rows, masked);
}

template <class K, int Sums, int Instructions>
typename MicroKernels<K>::AskingKernel find_any_asking_packed_tile(AOrder order, int rows, int vectors) {
  if constexpr (most_packed_vectors<K, Instructions> == 4)
    if (vectors == 3) return find_asking_tile<K, AOrder::columns, 3, Sums / 3>(rows);
  return find_asking_tile<K, 2, Sums / 2>(order, rows);
}

/// `Sums`: as of kernels(). A and B: the types of elements, where the kind leaves them open.
template <class K, int Sums, int Instructions = 1, class A = Input<K>, class B = Input<K>>
const MicroKernels<K>& packed_kernels() {
  static constexpr MicroKernels<K> table{.tile = &find_any_packed_tile<K, Sums, Instructions>,
                                         .asking_tile = &find_any_asking_packed_tile<K, Sums, Instructions>,
                                         .add_sums = &add_sums<Sum<K>>,
                                         .pack_a = &pack_groups<K, false, Groups<K, A, B>>,
                                         .pack_b = &pack_groups<K, true, Groups<K, B, A>>,
                                         .copy_a = &copy_row_of_a<K, Groups<K, A, B>>,
                                         .lanes = lane_count<Lane<K>>,
                                         .vectors = 2,
                                         .rows = Sums / 2,
                                         .most_vectors = most_packed_vectors<K, Instructions>,
                                         .sums = Sums,
                                         .instructions = Instructions};
  return table;
}

/// Of bytes, i8 or u8 each.
template <class K, int Sums, int Instructions = 1>
const MicroKernels<K>& byte_kernels(ElementType a, ElementType b) {
  using Signed = std::int8_t;
  using Unsigned = std::uint8_t;
  if (a == ElementType::i8)
    return b == ElementType::i8 ? packed_kernels<K, Sums, Instructions, Signed, Signed>()
                                : packed_kernels<K, Sums, Instructions, Signed, Unsigned>();
  return b == ElementType::i8 ? packed_kernels<K, Sums, Instructions, Unsigned, Signed>()
                              : packed_kernels<K, Sums, Instructions, Unsigned, Unsigned>();
}

/// The tiles of another kind, whose lanes and sums are the same.
template <class K, class Like>
MicroKernels<K> kernels_with_tiles_of(const MicroKernels<Like>& like) {
  return {.tile = like.tile,
          .asking_tile = like.asking_tile,
          .add_sums = like.add_sums,
          .pack_a = &pack_groups<K, false>,
          .pack_b = &pack_groups<K, true>,
          .copy_a = &copy_row_of_a<K>,
          .lanes = like.lanes,
          .vectors = like.vectors,
          .rows = like.rows,
          .most_vectors = like.most_vectors,
          .sums = like.sums,
          .instructions = like.instructions};
}

}  // namespace exactile::cpu::HWY_NAMESPACE
