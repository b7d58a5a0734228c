// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows of A and columns of B before they are multiplied: packed, and measured for what their sums may be off by.
/// Compiled for each instruction set, as tile.hpp is.
#pragma once

#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "cpu/certified/kernels.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// Lanes of f32, up to Width of them, as panel[term * Width + lane]; those that are not there are zero.
template <int Width>
void pack_lanes(const float* __restrict from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes,
                std::int64_t terms, double* __restrict panel) {
  if (lane_stride == 1 && lanes == Width) {
    for (; terms > 0; --terms, from += term_stride, panel += Width)
      for (int l = 0; l < Width; ++l) panel[l] = static_cast<double>(from[l]);
    return;
  }
  // A line of each lane at a time: lanes a power of two apart would push each other out of L1 before a second visit.
  constexpr std::int64_t at_once = 16;
  double block[Width][at_once] = {};
  for (; terms > 0; terms -= at_once, from += at_once * term_stride) {
    const std::int64_t here = terms < at_once ? terms : at_once;
    for (std::int64_t l = 0; l < lanes; ++l) {
      const float* lane = from + l * lane_stride;
      if (term_stride == 1 && here == at_once)
        for (int t = 0; t < at_once; ++t) block[l][t] = static_cast<double>(lane[t]);
      else
        for (std::int64_t t = 0; t < here; ++t) block[l][t] = static_cast<double>(lane[t * term_stride]);
    }
    for (std::int64_t t = 0; t < here; ++t, panel += Width)
      for (int l = 0; l < Width; ++l) panel[l] = block[l][t];
  }
}

/// The power of two that is the value of x's last bit that is set.
inline double last_bit(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1;
  const double without = std::bit_cast<double>(bits & (bits - 1));
  const double last = (bits & fraction) == 0 ? x : x - without;
  return x == 0 ? std::numeric_limits<double>::infinity() : std::fabs(last);
}

inline void measure_lines(const double* panel, int width, std::int64_t terms, bool squares, bool largest, Lines lines) {
  for (std::int64_t p = 0; p < terms; ++p, panel += width) {
    for (int l = 0; l < width; ++l) {
      const double x = panel[l];
      const double last = last_bit(x);
      lines.steps[l] = last < lines.steps[l] ? last : lines.steps[l];
      const double size = std::fabs(x);
      const double norm = lines.norms[l];
      const double of_largest = size > norm || size != size ? size : norm;
      lines.norms[l] = squares ? norm + x * x : largest ? of_largest : norm + size;
    }
  }
}

template <int Rows, int Columns>
void measure_sums(const double* panel, std::int64_t terms, bool is_b, Lines lines) {
  if (is_b)
    measure_lines(panel, Columns, terms, false, true, lines);
  else
    measure_lines(panel, Rows, terms, false, false, lines);
}

/// Squares may be added in any order: norms are rounded up afterwards.
template <class V, int Width>
void measure_squares_of(const double* panel, std::int64_t terms, Lines lines) {
  constexpr int period = std::lcm(Width, V::lanes);
  constexpr int vectors = period / V::lanes;
  typename V::Register norms[vectors], steps[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) {
    norms[v] = V::set(0);
    steps[v] = V::set(std::numeric_limits<double>::infinity());
  }
  for (; terms >= period / Width; terms -= period / Width, panel += period)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const auto x = V::load(panel + v * V::lanes);
      norms[v] = V::multiply_add(x, x, norms[v]);
      steps[v] = V::smaller(V::last_bit(x), steps[v]);
    }
  double all_norms[period], all_steps[period];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) {
    V::store(norms[v], all_norms + v * V::lanes);
    V::store(steps[v], all_steps + v * V::lanes);
  }
  for (int e = 0; e < period; ++e) {
    lines.norms[e % Width] += all_norms[e];
    lines.steps[e % Width] = std::fmin(lines.steps[e % Width], all_steps[e]);
  }
  measure_lines(panel, Width, terms, true, false, lines);
}

template <class V, int Rows, int Columns>
void measure_squares(const double* panel, std::int64_t terms, bool is_b, Lines lines) {
  if (is_b)
    measure_squares_of<V, Columns>(panel, terms, lines);
  else
    measure_squares_of<V, Rows>(panel, terms, lines);
}

}  // namespace exactile::cpu::HWY_NAMESPACE
