// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums along lines of integers of 8 and 16 bits: an instruction multiplies two neighbouring terms and adds both.
/// Modulo 2^32 all orders of summation have the same bits.
#pragma once

#include <algorithm>
#include <type_traits>

#include "cpu/micro/highway_lane_sums.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

template <class In>
inline constexpr bool is_narrow_integer = std::is_integral_v<In> && sizeof(In) <= 2;

using Shorts = Lanes<std::int16_t>;
inline constexpr int short_count = lane_count<std::int16_t>;

template <class In, class Load = AllLanes>
HWY_INLINE Vector<std::int16_t> load_shorts(const In* from, const Load& load = {}) {
  if constexpr (sizeof(In) == 2)
    return load(Shorts(), from);
  else
    return hn::PromoteTo(Shorts(), load(hn::Rebind<In, Shorts>(), from));
}

class SumOfPairs {
 public:
  HWY_INLINE void add(Vector<std::int16_t> w, Vector<std::int16_t> x) {
    sum_ = hn::ReorderWidenMulAccumulate(d_, w, x, sum_, other_);
  }
  [[nodiscard]] HWY_INLINE Vector<std::int32_t> lanes() const { return hn::Add(sum_, other_); }
  [[nodiscard]] HWY_INLINE std::int32_t total() const { return fold(d_, lanes()); }

 private:
  static constexpr Lanes<std::int32_t> d_{};
  Vector<std::int32_t> sum_ = hn::Zero(d_);
  Vector<std::int32_t> other_ = hn::Zero(d_);  ///< where an instruction leaves half of the pairs to another
};

/// Sums of `LinesAtOnce` lines and one x, which zeros follow; added to those that are there, if there are.
template <class In, int LinesAtOnce>
HWY_INLINE void sum_narrow_lines(const In* w, std::int64_t w_stride, std::int64_t terms, const std::int16_t* x,
                                 bool adds, std::int32_t* sums, std::int64_t sums_stride) {
  SumOfPairs of_line[LinesAtOnce];
  const auto add = [&](std::int64_t p, const auto& load) __attribute__((always_inline)) {
    const Vector<std::int16_t> of_x = hn::LoadU(Shorts(), x + p);
    unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
      of_line[j].add(load_shorts(w + j * w_stride + p, load), of_x);
    });
  };
  std::int64_t p = 0;
  for (; p + short_count <= terms; p += short_count) add(p, AllLanes());
  if (p < terms) add(p, SomeLanes{terms - p});
  unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
    const auto before = adds ? static_cast<std::uint32_t>(sums[j * sums_stride]) : 0U;
    sums[j * sums_stride] = static_cast<std::int32_t>(before + static_cast<std::uint32_t>(of_line[j].total()));
  });
}

/// See VectorKernels::along. Takes so many terms at a time that all x as shorts stay in L1.
template <class In>
void sums_along_narrow(const In* w, std::int64_t w_stride, std::int64_t lines, std::int64_t terms,
                       const HeldVectors<In>& x, int vectors, bool one_by_one, std::int32_t* sums) {
  constexpr std::int64_t group = 8, room = 2 * lane_block_terms;
  alignas(64) std::int16_t narrow[room];
  const std::int64_t most = room / vectors / held_padding * held_padding;
  const std::int64_t whole = terms / held_padding * held_padding;
  for (std::int64_t begin = 0; begin < terms; begin += most, w += most) {
    const std::int64_t here = std::min(terms - begin, most);
    for (int i = 0; i < vectors; ++i) {
      const HeldVectors<In> one = x.from(i);
      std::copy_n(one.held + begin, std::min(here, whole - begin), narrow + i * most);
      if (begin + here > whole) std::copy_n(one.end, held_padding, narrow + i * most + whole - begin);
    }
    std::int64_t j = 0;
    const auto sum = [&]<std::int64_t together>() __attribute__((always_inline)) {
      for (int i = 0; i < vectors; ++i)
        sum_narrow_lines<In, together>(w + j * w_stride, w_stride, here, narrow + i * most, begin > 0,
                                       sums + j * vectors + i, vectors);
    };
    for (; !one_by_one && j + group <= lines; j += group) sum.template operator()<group>();
    for (; j < lines; ++j) sum.template operator()<1>();
  }
}

/// See VectorKernels::dot.
template <class In>
std::int32_t dot_narrow(const In* w, const In* x, std::int64_t terms) {
  constexpr int at_once = 4;  // sums that wait for none of each other
  SumOfPairs sums[at_once];
  std::int64_t p = 0;
  for (; p + at_once * short_count <= terms; p += at_once * short_count)
    unrolled<at_once>([&](auto s) __attribute__((always_inline)) {
      sums[s].add(load_shorts(w + p + s * short_count), load_shorts(x + p + s * short_count));
    });
  for (; p + short_count <= terms; p += short_count) sums[0].add(load_shorts(w + p), load_shorts(x + p));
  if (p < terms) sums[0].add(load_shorts(w + p, SomeLanes{terms - p}), load_shorts(x + p, SomeLanes{terms - p}));
  Vector<std::int32_t> all[at_once];
  unrolled<at_once>([&](auto s) __attribute__((always_inline)) { all[s] = sums[s].lanes(); });
  return fold(Lanes<std::int32_t>(), add_registers(all));
}

}  // namespace exactile::cpu::HWY_NAMESPACE
