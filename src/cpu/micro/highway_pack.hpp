// SPDX-License-Identifier: Apache-2.0
/// \file Packing: strips of A and B as the micro-kernel reads them.
#pragma once

#include "cpu/micro/highway_tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// Lanes are neighbours: rows of `lanes` elements are copied.
template <class T>
void copy_rows(const T* from, std::int64_t term_stride, std::int64_t lanes, std::int64_t width, std::int64_t terms,
               T* panel) {
  const Lanes<T> d;
  constexpr std::int64_t step = lane_count<T>;
  for (std::int64_t p = 0; p < terms; ++p, from += term_stride, panel += width) {
    std::int64_t l = 0;
    for (; l + step <= lanes; l += step) hn::StoreU(hn::LoadU(d, from + l), d, panel + l);
    for (; l < lanes; ++l) panel[l] = from[l];
    for (; l < width; ++l) panel[l] = T(0);
  }
}

/// A square block of one 128-bit register's width, turned in registers.
HWY_INLINE void turn_block(const float* from, std::int64_t lane_stride, std::int64_t width, float* panel) {
  const hn::Full128<float> d;
  const auto r0 = hn::LoadU(d, from);
  const auto r1 = hn::LoadU(d, from + lane_stride);
  const auto r2 = hn::LoadU(d, from + 2 * lane_stride);
  const auto r3 = hn::LoadU(d, from + 3 * lane_stride);
  const auto low02 = hn::InterleaveLower(d, r0, r2);
  const auto low13 = hn::InterleaveLower(d, r1, r3);
  const auto high02 = hn::InterleaveUpper(d, r0, r2);
  const auto high13 = hn::InterleaveUpper(d, r1, r3);
  hn::StoreU(hn::InterleaveLower(d, low02, low13), d, panel);
  hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, panel + width);
  hn::StoreU(hn::InterleaveLower(d, high02, high13), d, panel + 2 * width);
  hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, panel + 3 * width);
}

HWY_INLINE void turn_block(const double* from, std::int64_t lane_stride, std::int64_t width, double* panel) {
  const hn::Full128<double> d;
  const auto r0 = hn::LoadU(d, from);
  const auto r1 = hn::LoadU(d, from + lane_stride);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, panel);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, panel + width);
}

template <class T>
void gather(const T* from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes, std::int64_t width,
            std::int64_t terms, T* panel) {
  for (std::int64_t p = 0; p < terms; ++p)
    for (std::int64_t l = 0; l < lanes; ++l) panel[p * width + l] = from[l * lane_stride + p * term_stride];
}

/// Terms are neighbours: the strip is turned block by block.
template <class T>
void turn(const T* from, std::int64_t lane_stride, std::int64_t lanes, std::int64_t width, std::int64_t terms,
          T* panel) {
  constexpr auto step = static_cast<std::int64_t>(hn::MaxLanes(hn::Full128<T>()));
  const std::int64_t whole_lanes = lanes / step * step;
  const std::int64_t whole_terms = terms / step * step;
  for (std::int64_t p = 0; p < whole_terms; p += step)
    for (std::int64_t l = 0; l < whole_lanes; l += step)
      turn_block(from + l * lane_stride + p, lane_stride, width, panel + p * width + l);
  gather(from + whole_terms, lane_stride, 1, whole_lanes, width, terms - whole_terms, panel + whole_terms * width);
  gather(from + whole_lanes * lane_stride, lane_stride, 1, lanes - whole_lanes, width, terms, panel + whole_lanes);
}

/// Copies a strip of an operand into a micro-panel: panel[p * width + l] = from[l * lane_stride + p * term_stride] for
/// l < lanes and p < terms; lanes up to `width` become zero. For B a lane is a column, for A a row. Any strides.
template <class T>
void pack_panel(const T* from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes,
                std::int64_t width, std::int64_t terms, T* panel) {
  if (lane_stride == 1) {
    copy_rows(from, term_stride, lanes, width, terms, panel);
    return;
  }
  if (lanes < width)
    for (std::int64_t p = 0; p < terms; ++p)
      for (std::int64_t l = lanes; l < width; ++l) panel[p * width + l] = T(0);
  if (term_stride == 1)
    turn(from, lane_stride, lanes, width, terms, panel);
  else
    gather(from, lane_stride, term_stride, lanes, width, terms, panel);
}

}  // namespace exactile::cpu::HWY_NAMESPACE
