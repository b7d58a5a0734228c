// SPDX-License-Identifier: Apache-2.0
/// \file One sum along a line of W and a vector, both where they lie: the order of highway_along.hpp, and nothing held.
#pragma once

#include "cpu/micro/highway_along.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// Terms of a part from p to `end`, in the part's registers.
template <class In>
HWY_INLINE void add_part_of_dot(const In* w, const In* x, std::int64_t p, std::int64_t end,
                                Vector<LaneOf<In>>* HWY_RESTRICT sums) {
  constexpr int vector_terms = terms_of_vector<In>;
  constexpr int registers = registers_of_part<In>;
  for (; p + registers * vector_terms <= end; p += registers * vector_terms)
    unrolled<registers>([&](auto r) __attribute__((always_inline)) {
      const std::int64_t term = p + r * vector_terms;
      add_product<In>(sums[r], load_terms(w + term), load_terms(x + term));
    });
  if (p >= end) return;
  unrolled<registers>([&](auto r) __attribute__((always_inline)) {
    const std::int64_t left = end - p;
    if (left >= vector_terms)
      add_product<In>(sums[r], load_terms(w + p), load_terms(x + p));
    else if (left > 0)
      add_product<In>(sums[r], load_some_terms(w + p, left), load_some_terms(x + p, left));
    p += vector_terms;
  });
}

/// `Count` parts at once, from the first one's term p on, as long as the last one of them has terms for all lanes.
template <class In, int Count>
HWY_INLINE std::int64_t add_parts_of_dot(const In* w, const In* x, std::int64_t p, std::int64_t part,
                                         std::int64_t of_last, Vector<LaneOf<In>>* HWY_RESTRICT sums) {
  constexpr int vector_terms = terms_of_vector<In>;
  constexpr int registers = registers_of_part<In>;
  constexpr std::int64_t step = std::int64_t{registers} * vector_terms;
  for (; p + step <= of_last; p += step)
    unrolled<Count>([&](auto q) __attribute__((always_inline)) {
      unrolled<registers>([&](auto r) __attribute__((always_inline)) {
        const std::int64_t term = q * part + p + r * vector_terms;
        add_product<In>(sums[q * registers + r], load_terms(w + term), load_terms(x + term));
      });
    });
  return p;
}

/// Whether all parts are summed at once as long as all have terms, then two and two: on an Emerald Rapids that is 1.1
/// to 1.3 times as fast from L2, and as fast from memory. Else part after part, in one stream: so Zen 4 takes 0.3 to
/// 0.6 of the time in L1, and 0.6 to 1.0 from memory. Zen 4 splits AVX-512's loads, and reads memory 15 % slower with
/// them than with AVX2's: AMD's processors take AVX2's dot, see vector_entries.hpp. Other processors without AVX-512
/// were not measured.
inline constexpr bool sums_parts_at_once = HWY_TARGET == HWY_AVX3;

/// A block of at most lane_block_terms.
template <class In>
HWY_INLINE Accumulator<In> dot_of_block(const In* w, const In* x, std::int64_t terms) {
  using Lane = LaneOf<In>;
  constexpr int parts = parts_of_sum<In>;
  constexpr int registers = registers_of_part<In>;
  Vector<Lane> sums[parts * registers];
  unrolled<parts * registers>([&](auto r) __attribute__((always_inline)) { sums[r] = hn::Zero(Lanes<Lane>()); });
  const std::int64_t part = terms_of_part<In>(terms);
  const auto size_of = [&](std::int64_t q) { return std::min(part, terms - q * part); };
  if constexpr (sums_parts_at_once) {
    const std::int64_t all = add_parts_of_dot<In, parts>(w, x, 0, part, size_of(parts - 1), sums);
    unrolled<parts / 2>([&](auto pair) __attribute__((always_inline)) {
      constexpr int q = 2 * pair;
      const In* const w_of_pair = w + q * part;
      const In* const x_of_pair = x + q * part;
      const std::int64_t p =
          add_parts_of_dot<In, 2>(w_of_pair, x_of_pair, all, part, size_of(q + 1), sums + q * registers);
      add_part_of_dot(w_of_pair, x_of_pair, p, size_of(q), sums + q * registers);
      add_part_of_dot(w_of_pair + part, x_of_pair + part, p, size_of(q + 1), sums + (q + 1) * registers);
    });
  } else {
    unrolled<parts>([&](auto q) __attribute__((always_inline)) {
      add_part_of_dot(w + q * part, x + q * part, 0, size_of(q), sums + q * registers);
    });
  }
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
