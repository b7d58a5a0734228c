// SPDX-License-Identifier: Apache-2.0
/// \file Multiply-adds with everything in registers: the peak that fractions are taken of.
#pragma once

#include "cpu/micro/highway_tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

template <class T>
double peak_loop(std::int64_t rounds) {
  // At least latency times throughput on every processor so far, and as many as there are registers for.
  constexpr int chains = HWY_ARCH_X86 ? 12 : 16;
  const Lanes<T> d;
  const Vector<T> x = hn::Set(d, T(0.999));
  const Vector<T> y = hn::Set(d, T(0.001));
  Vector<T> sums[chains];
#pragma GCC unroll 16
  for (int i = 0; i < chains; ++i) sums[i] = hn::Set(d, T(i));
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < chains; ++i) {
      multiply_add_into(sums[i], x, y);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < chains; ++i) keep(sums[i]);  // or the loop would be for nothing
  return 2.0 * chains * lane_count<T> * static_cast<double>(rounds);
}

}  // namespace exactile::cpu::HWY_NAMESPACE
