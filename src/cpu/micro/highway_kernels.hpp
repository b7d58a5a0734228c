// SPDX-License-Identifier: Apache-2.0
/// \file Puts the micro-kernels of one instruction set into their table.
#pragma once

#include "cpu/micro/highway_pack.hpp"
#include "cpu/micro/highway_peak.hpp"
#include "cpu/micro/highway_stream.hpp"
#include "cpu/micro/highway_tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

inline constexpr int max_stream_rows = 8;

template <class T, int Rows, int NarrowRows>
const MicroKernels<T>& kernels() {
  static constexpr MicroKernels<T> table{
      .tile = [](AOrder order, int rows, int vectors, bool masked) -> typename MicroKernels<T>::Kernel {
        return vectors == 1 ? find_tile<T, 1, NarrowRows>(order, rows, masked)
                            : find_tile<T, 2, Rows>(order, rows, masked);
      },
      .packing_tile = [](AOrder order, int rows) ->
      typename MicroKernels<T>::PackingKernel { return find_packing_tile<T, 2, Rows>(order, rows); },
      .asking_tile = [](AOrder order, int rows) ->
      typename MicroKernels<T>::AskingKernel { return find_asking_tile<T, 2, Rows>(order, rows); },
      .stream = [](int rows) -> typename MicroKernels<T>::Kernel {
        return find_stream<T>(rows, std::make_integer_sequence<int, max_stream_rows>());
      },
      .add_sums = &add_sums<T>,
      .pack = &pack_panels<T>,
      .lanes = lane_count<T>,
      .vectors = 2,
      .rows = Rows,
      .narrow_rows = NarrowRows,
      .stream_rows = max_stream_rows,
      .peak_loop = &peak_loop<T>};
  return table;
}

}  // namespace exactile::cpu::HWY_NAMESPACE
