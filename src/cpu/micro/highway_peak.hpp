// SPDX-License-Identifier: Apache-2.0
/// \file Multiply-adds with everything in registers: the peak that fractions are taken of.
#pragma once

#include "cpu/micro/highway_tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

template <class T>
double peak_loop(std::int64_t rounds) {
  constexpr int chains = 12;  // more than latency times throughput on every processor so far
  const Lanes<T> d;
  Vector<T> x = hn::Set(d, T(0.999));
  Vector<T> y = hn::Set(d, T(0.001));
  Vector<T> sums[chains];
#pragma GCC unroll 16
  for (int i = 0; i < chains; ++i) sums[i] = hn::Set(d, T(i));
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < chains; ++i) {
      sums[i] = hn::MulAdd(sums[i], x, y);
      pin(sums[i]);
    }
  }
  // The sums are pinned in every round, so the loop is not empty to the compiler.
  return 2.0 * chains * lane_count<T> * static_cast<double>(rounds);
}

}  // namespace exactile::cpu::HWY_NAMESPACE
