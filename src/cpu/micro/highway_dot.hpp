// SPDX-License-Identifier: Apache-2.0
/// \file One sum along a line of W and a vector, both where they lie: the order of highway_along.hpp, and nothing held.
#pragma once

#include "cpu/micro/highway_along.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// A block of at most lane_block_terms.
template <class In>
HWY_INLINE Accumulator<In> dot_of_block(const In* w, const In* x, std::int64_t terms) {
  using Lane = LaneOf<In>;
  constexpr int vector_terms = terms_of_vector<In>;
  constexpr int registers = registers_of_sum<In>;
  constexpr std::int64_t step = std::int64_t{registers} * vector_terms;
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(In));
  constexpr std::int64_t ahead = ahead_along<1> / static_cast<std::int64_t>(sizeof(In));
  Vector<Lane> sums[registers];
  unrolled<registers>([&](auto r) __attribute__((always_inline)) { sums[r] = hn::Zero(Lanes<Lane>()); });
  std::int64_t p = 0;
  for (; p + step <= terms; p += step) {
    unrolled<registers>([&](auto r) __attribute__((always_inline)) {
      add_product<Lane>(sums[r], load_terms(w + p + r * vector_terms), load_terms(x + p + r * vector_terms));
    });
    unrolled<step / line>([&](auto q) __attribute__((always_inline)) {
      __builtin_prefetch(w + p + q * line + ahead, 0, nearness<1>);
      __builtin_prefetch(x + p + q * line + ahead, 0, nearness<1>);
    });
  }
  unrolled<registers>([&](auto r) __attribute__((always_inline)) {
    const std::int64_t left = terms - p;
    if (left >= vector_terms)
      add_product<Lane>(sums[r], load_terms(w + p), load_terms(x + p));
    else if (left > 0)
      add_product<Lane>(sums[r], load_some_terms(w + p, left), load_some_terms(x + p, left));
    p += vector_terms;
  });
  return fold(Lanes<Lane>(), add_registers(sums));
}

/// Block after block.
template <class In>
Accumulator<In> dot(const In* w, const In* x, std::int64_t terms) {
  const auto size = [&](std::int64_t p) { return std::min(lane_block_terms, terms - p); };
  Accumulator<In> sum = dot_of_block(w, x, size(0));
  for (std::int64_t p = lane_block_terms; p < terms; p += lane_block_terms)
    sum = core::add(sum, dot_of_block(w + p, x + p, size(p)));
  return sum;
}

}  // namespace exactile::cpu::HWY_NAMESPACE
