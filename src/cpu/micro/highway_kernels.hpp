// SPDX-License-Identifier: Apache-2.0
/// \file Puts the micro-kernels of one instruction set into their table.
#pragma once

#include "cpu/micro/highway_pack.hpp"
#include "cpu/micro/highway_peak.hpp"
#include "cpu/micro/highway_rows.hpp"
#include "cpu/micro/highway_stream.hpp"
#include "cpu/micro/highway_tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

inline constexpr int max_stream_rows = 8;

/// Four vectors need more registers than there are without AVX-512, and more reads than several instructions for each
/// multiply-add wait for.
template <class T>
inline constexpr int most_vectors = sizeof(Vector<Number<T>>) == 64 && !std::is_integral_v<T> ? 4 : 2;

/// Rows of a tile of `Sums` registers at most: more would spare next to no reads.
template <class T, int Sums>
inline constexpr int tallest = std::is_integral_v<T> ? Sums / 2 : (most_vectors<T> == 4 ? Sums * 2 / 3 : Sums);

/// Only AVX-512 has multiply-adds that read an element and repeat it.
template <class T, int Sums>
constexpr auto row_tiles() -> typename MicroKernels<T>::Kernel (*)(int, bool) {
  if constexpr (sizeof(Vector<T>) == 64)
    return [](int rows, bool masked) { return find_row_tile<T, tallest<T, Sums>>(rows, masked); };
  else
    return nullptr;
}

template <class T, int Sums>
typename MicroKernels<T>::Kernel find_any_tile(AOrder order, int rows, int vectors, bool masked) {
  if constexpr (most_vectors<T> == 4) {
    if (vectors == 4) return find_tile<T, 4, Sums / 4>(order, rows, masked);
    if (vectors == 3) return find_tile<T, 3, Sums / 3>(order, rows, masked);
  }
  return vectors == 2 ? find_tile<T, 2, Sums / 2>(order, rows, masked)
                      : find_tile<T, 1, tallest<T, Sums>>(order, rows, masked);
}

template <class T, int Sums>
typename MicroKernels<T>::PackingKernel find_any_packing_tile(AOrder order, int rows, int vectors) {
  if constexpr (most_vectors<T> == 4) {
    if (vectors == 3) return find_packing_tile<T, AOrder::columns, 3, Sums / 3>(rows);
  }
  return order == AOrder::rows ? find_packing_tile<T, AOrder::rows, 2, Sums / 2>(rows)
                               : find_packing_tile<T, AOrder::columns, 2, Sums / 2>(rows);
}

template <class T, int Sums>
typename MicroKernels<T>::AskingKernel find_any_asking_tile(AOrder order, int rows, int vectors) {
  if constexpr (most_vectors<T> == 4) {
    if (vectors == 3) return find_asking_tile<T, AOrder::columns, 3, Sums / 3>(rows);
    if (vectors == 4) return find_asking_tile<T, 4, Sums / 4>(order, rows);
  }
  return find_asking_tile<T, 2, Sums / 2>(order, rows);
}

/// `Sums`: vectors of sums that the registers hold beside two of B and one of A.
template <class T, int Sums>
const MicroKernels<T>& kernels() {
  static constexpr MicroKernels<T> table{.tile = &find_any_tile<T, Sums>,
                                         .row_tile = row_tiles<T, Sums>(),
                                         .packing_tile = &find_any_packing_tile<T, Sums>,
                                         .asking_tile = &find_any_asking_tile<T, Sums>,
                                         .asking_column = &find_asking_column<T, streamed_rows>,
                                         .stream = [](int rows) -> typename MicroKernels<T>::Kernel {
                                           return find_stream<T>(rows,
                                                                 std::make_integer_sequence<int, max_stream_rows>());
                                         },
                                         .add_sums = &add_sums<T>,
                                         .pack_a = &pack_panels<T>,
                                         .pack_b = &pack_panels<T>,
                                         .lanes = lane_count<T>,
                                         .vectors = 2,
                                         .rows = Sums / 2,
                                         .most_vectors = most_vectors<T>,
                                         .sums = Sums,
                                         .tallest = tallest<T, Sums>,
                                         .stream_rows = max_stream_rows,
                                         .instructions = 1,
                                         .peak_loop = &peak_loop<T>};
  return table;
}

/// Of kinds whose tiles have no more to them than their numbers. `Sums`: vectors of sums in elements of the kind.
template <class K, int Sums>
const MicroKernels<K>& plain_kernels(int instructions, typename MicroKernels<K>::Pack pack,
                                     decltype(MicroKernels<K>::add_sums) add_sums) {
  static const MicroKernels<K> table{.tile = &find_any_tile<K, Sums>,
                                     .packing_tile = &find_any_packing_tile<K, Sums>,
                                     .asking_tile = &find_any_asking_tile<K, Sums>,
                                     .add_sums = add_sums,
                                     .pack_a = pack,
                                     .pack_b = pack,
                                     .lanes = lane_count<Number<K>> / parts<K>,
                                     .vectors = 2,
                                     .rows = Sums / 2,
                                     .most_vectors = most_vectors<K>,
                                     .sums = Sums,
                                     .tallest = tallest<K, Sums>,
                                     .instructions = instructions};
  return table;
}

}  // namespace exactile::cpu::HWY_NAMESPACE
