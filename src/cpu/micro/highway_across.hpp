// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums across lines: every lane is one sum, and takes its terms in order with one multiply-add each. The sums of a
/// chunk of terms lie in a strip of L1, loaded and stored once for eight lines. A complex line is one of reals, twice
/// as long, whose products with the real part of x and with its imaginary part go to strips of their own.
#pragma once

#include "cpu/micro/highway_complex.hpp"
#include "cpu/micro/highway_dot.hpp"
#include "cpu/micro/highway_narrow_along.hpp"
#include "cpu/micro/highway_stream.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

inline constexpr int lines_together = 8;
inline constexpr int strips_together = 8;

/// From what is read to what is asked for, in bytes of each line.
inline constexpr std::int64_t ahead_across = 128;

/// Elements of w as reals.
template <class In>
using PartOf = std::conditional_t<core::is_complex_v<In>, LaneOf<In>, In>;
template <class In>
inline constexpr int parts = core::is_complex_v<In> ? 2 : 1;

/// Factors of the lines for each strip.
template <class Lane, int Strips>
struct Factors {
  Lane x[Strips][lines_together];
};

template <class Part, class Lane, int Strips, class Load = AllLanes>
HWY_INLINE void add_vector_of(const Part* w, std::int64_t stride, std::int64_t distance,
                              const Factors<Lane, Strips>& factors, Lane* strips, std::int64_t strip, Load load = {}) {
  const Lanes<Lane> d;
  Vector<Lane> sums[Strips];
#pragma GCC unroll 8
  for (int i = 0; i < Strips; ++i) sums[i] = hn::LoadU(d, strips + i * strip);
#pragma GCC unroll 8
  for (int q = 0; q < lines_together; ++q) {
    const Vector<Lane> line = load_lanes(w + q * stride, load);
    __builtin_prefetch(w + q * stride + distance);
#pragma GCC unroll 8
    for (int i = 0; i < Strips; ++i) add_product<Part>(sums[i], hn::Set(d, factors.x[i][q]), line);
  }
#pragma GCC unroll 8
  for (int i = 0; i < Strips; ++i) hn::StoreU(sums[i], d, strips + i * strip);
}

/// Whether some lanes are loaded by one instruction, see SomeLanes; of narrow types it is not worth its code.
template <class Part>
inline constexpr bool has_masks = sizeof(Part) >= 4 && HWY_TARGET != HWY_NEON;

/// What does not fill the unrolled loops: `count` lines, fewer than lines_together, or without masks fewer columns than
/// a vector has. One function for all numbers of strips, which is compiled in a fraction of the time. `x`: `count`
/// factors of each strip, one strip's behind the other's.
template <class Part, class Lane>
HWY_NOINLINE void add_rest(const Part* w, std::int64_t stride, std::int64_t columns, const Lane* x, int strip_count,
                           int count, Lane* strips, std::int64_t strip) {
  const Lanes<Lane> d;
  constexpr std::int64_t lanes = lane_count<Lane>;
  for (std::int64_t j = 0; j < columns; j += lanes) {
    const SomeLanes some{std::min(lanes, columns - j)};
    Vector<Lane> lines[lines_together];
#pragma GCC unroll 1
    for (int q = 0; q < count; ++q) lines[q] = load_lanes(w + q * stride + j, some);
    for (int i = 0; i < strip_count; ++i) {
      Vector<Lane> sum = hn::LoadU(d, strips + i * strip + j);
#pragma GCC unroll 1
      for (int q = 0; q < count; ++q) add_product<Part>(sum, hn::Set(d, x[i * count + q]), lines[q]);
      hn::StoreU(sum, d, strips + i * strip + j);
    }
  }
}

template <class Part, class Lane, int Strips>
void add_lines(const Part* w, std::int64_t stride, std::int64_t columns, const Factors<Lane, Strips>& given,
               Lane* strips, std::int64_t strip) {
  constexpr std::int64_t ahead = ahead_across / static_cast<std::int64_t>(sizeof(Part));
  constexpr std::int64_t lanes = lane_count<Lane>;
  const Factors<Lane, Strips> factors = given;  // on this stack: nothing that is stored can change them
  // At the end of the lines it asks for the beginnings of the next ones.
  const std::int64_t to_next = lines_together * stride - std::max<std::int64_t>(columns - ahead, 0);
  std::int64_t j = 0;
  for (; j + lanes <= columns; j += lanes)
    add_vector_of(w + j, stride, j + lanes <= columns - ahead ? ahead : to_next, factors, strips + j, strip);
  if (j == columns) return;
  if constexpr (has_masks<Part>)
    add_vector_of(w + j, stride, to_next, factors, strips + j, strip, SomeLanes{columns - j});
  else
    add_rest(w + j, stride, columns - j, factors.x[0], Strips, lines_together, strips + j, strip);
}

/// The factor of term p for strip s: of complex x its real part for even strips, its imaginary part for odd ones.
template <class In>
HWY_INLINE LaneOf<In> factor(const LaneOf<In>* held, std::int64_t held_stride, int s, std::int64_t p) {
  if constexpr (core::is_complex_v<In>) {
    constexpr std::int64_t terms = terms_of_vector<In>;
    const std::int64_t at = p / terms * terms * held_lanes<In> + 2 * (p % terms);
    return held[s / 2 * held_stride + at + (s % 2) * lane_count<LaneOf<In>>];
  } else {
    return held[s * held_stride + p];
  }
}

template <class In, int Strips>
void fill_strips(const In* w, std::int64_t w_stride, std::int64_t columns, std::int64_t terms, const LaneOf<In>* held,
                 std::int64_t held_stride, int first, LaneOf<In>* strips, std::int64_t strip) {
  using Lane = LaneOf<In>;
  const auto* from = reinterpret_cast<const PartOf<In>*>(w);
  const std::int64_t stride = w_stride * parts<In>;
  Factors<Lane, Strips> factors;
  const auto take = [&](std::int64_t p, std::int64_t count) {
    Lane* x = factors.x[0];
    for (int i = 0; i < Strips; ++i)
      for (std::int64_t q = 0; q < count; ++q) *x++ = factor<In>(held, held_stride, first + i, p + q);
  };
  std::int64_t p = 0;
  for (; p + lines_together <= terms; p += lines_together) {
    take(p, lines_together);
    add_lines(from + p * stride, stride, columns * parts<In>, factors, strips, strip);
  }
  if (p == terms) return;
  take(p, terms - p);
  add_rest(from + p * stride, stride, columns * parts<In>, factors.x[0], Strips, static_cast<int>(terms - p), strips,
           strip);
}

template <class In, int... Strips>
auto find_strips(int strips, std::integer_sequence<int, Strips...>) {
  using Fill = void (*)(const In*, std::int64_t, std::int64_t, std::int64_t, const LaneOf<In>*, std::int64_t, int,
                        LaneOf<In>*, std::int64_t);
  static constexpr Fill table[] = {&fill_strips<In, Strips + 1>...};
  return table[strips - 1];
}

template <class In>
void sums_across(const In* w, std::int64_t w_stride, std::int64_t columns, std::int64_t terms, const LaneOf<In>* held,
                 std::int64_t held_stride, int vectors, Accumulator<In>* sums) {
  using Lane = LaneOf<In>;
  constexpr std::int64_t lanes = lane_count<Lane>;
  alignas(64) Lane strips[2 * across_columns<In>(1) * static_cast<int>(sizeof(Accumulator<In>) / sizeof(Lane))];
  const std::int64_t strip = (columns * parts<In> + lanes - 1) / lanes * lanes;
  const int all = vectors * parts<In>;
  std::fill_n(strips, strip * all, Lane(0));
  for (int s = 0; s < all; s += strips_together) {
    const int here = std::min(all - s, strips_together);
    find_strips<In>(here, std::make_integer_sequence<int, strips_together>())(
        w, w_stride, columns, terms, held, held_stride, s, strips + s * strip, strip);
  }
  for (int i = 0; i < vectors; ++i, sums += columns) {
    const Lane* from = strips + i * parts<In> * strip;
    if constexpr (core::is_complex_v<In>) {
      for (std::int64_t j = 0; j < columns; ++j)
        sums[j] = {from[2 * j] - from[strip + 2 * j + 1], from[2 * j + 1] + from[strip + 2 * j]};
    } else {
      std::copy_n(from, columns, sums);
    }
  }
}

template <class In>
constexpr decltype(VectorKernels<In>::dot) dot_kernel() {
  if constexpr (core::is_complex_v<In>)
    return nullptr;
  else if constexpr (is_narrow_integer<In>)
    return &dot_narrow<In>;
  else
    return &dot<In>;
}

template <class In>
constexpr decltype(VectorKernels<In>::along) along_kernel() {
  if constexpr (is_narrow_integer<In>)
    return &sums_along_narrow<In>;
  else
    return &sums_along<In>;
}

template <class In>
constexpr decltype(VectorKernels<In>::add_sums) adding_kernel() {
  if constexpr (core::is_complex_v<In>)
    return &add_complex_sums<LaneOf<In>>;
  else
    return &add_sums<Accumulator<In>>;
}

/// The table of one instruction set and type.
template <class In>
const VectorKernels<In>& vector_kernels() {
  static constexpr VectorKernels<In> table{.hold = &hold_vector<In>,
                                           .along = along_kernel<In>(),
                                           .dot = dot_kernel<In>(),
                                           .across = &sums_across<In>,
                                           .add_sums = adding_kernel<In>()};
  return table;
}

}  // namespace exactile::cpu::HWY_NAMESPACE
