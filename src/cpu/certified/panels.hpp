// SPDX-License-Identifier: Apache-2.0
/// \file Operands of any floating type as panels of f64, exactly.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>

#include "cpu/certified/settle.hpp"
#include "exactile/types.hpp"

namespace exactile::cpu {

/// Lanes of an operand, rows of A or columns of B: elements from[lane * lane_stride + term * term_stride].
template <class T>
struct LaneSource {
  const T* from;
  std::int64_t lane_stride;
  std::int64_t term_stride;
  bool conjugate;
};

/// Lanes [first, first + lanes) of a real operand as panel[term * width + lane]; lanes up to `width` are zero.
template <class T>
void pack_panel(const LaneSource<T>& source, std::int64_t first, std::int64_t lanes, int width, std::int64_t terms,
                double* panel) {
  const T* from = source.from + first * source.lane_stride;
  if (source.lane_stride == 1) {
    for (std::int64_t p = 0; p < terms; ++p, from += source.term_stride, panel += width) {
      for (std::int64_t l = 0; l < lanes; ++l) panel[l] = as_double(from[l]);
      for (std::int64_t l = lanes; l < width; ++l) panel[l] = 0;
    }
    return;
  }
  // A line of each lane at a time: lanes a power of two apart would push each other out of L1 before a second visit.
  constexpr std::int64_t at_once = 16;
  constexpr std::int64_t most_width = 16;
  double block[most_width][at_once] = {};
  for (std::int64_t p = 0; p < terms; p += at_once, from += at_once * source.term_stride) {
    const std::int64_t here = std::min(at_once, terms - p);
    for (std::int64_t l = 0; l < lanes; ++l) {
      const T* lane = from + l * source.lane_stride;
      if (source.term_stride == 1)
        for (std::int64_t t = 0; t < here; ++t) block[l][t] = as_double(lane[t]);
      else
        for (std::int64_t t = 0; t < here; ++t) block[l][t] = as_double(lane[t * source.term_stride]);
    }
    for (std::int64_t t = 0; t < here; ++t, panel += width)
      for (std::int64_t l = 0; l < width; ++l) panel[l] = block[l][t];
  }
}

/// The same of a complex A: a term becomes two, the real and the imaginary part.
template <class T>
void pack_complex_a(const LaneSource<std::complex<T>>& source, std::int64_t first, std::int64_t lanes, int width,
                    std::int64_t terms, double* panel) {
  for (std::int64_t p = 0; p < terms / 2; ++p, panel += 2 * width)
    for (std::int64_t l = 0; l < width; ++l) {
      const auto element = l < lanes ? source.from[(first + l) * source.lane_stride + p * source.term_stride] : 0;
      panel[l] = static_cast<double>(element.real());
      panel[width + l] = static_cast<double>(source.conjugate ? -element.imag() : element.imag());
    }
}

/// Of a complex B: a column becomes two, which with A's terms make the real and the imaginary part of C.
template <class T>
void pack_complex_b(const LaneSource<std::complex<T>>& source, std::int64_t first, std::int64_t lanes, int width,
                    std::int64_t terms, double* panel) {
  for (std::int64_t p = 0; p < terms / 2; ++p, panel += 2 * width)
    for (std::int64_t l = 0; l < width; l += 2) {
      const auto element = l < lanes ? source.from[(first + l) / 2 * source.lane_stride + p * source.term_stride] : 0;
      const auto real = static_cast<double>(element.real());
      const auto imaginary = static_cast<double>(source.conjugate ? -element.imag() : element.imag());
      panel[l] = real;
      panel[width + l] = -imaginary;
      panel[l + 1] = imaginary;
      panel[width + l + 1] = real;
    }
}

}  // namespace exactile::cpu
