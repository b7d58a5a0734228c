// SPDX-License-Identifier: Apache-2.0
/// \file Packing: strips of A and B as the micro-kernel reads them.
#pragma once

#include <complex>

#include "cpu/micro/highway_tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

template <class T>
inline constexpr std::int64_t line_elements = 64 / static_cast<std::int64_t>(sizeof(T));

/// From the term that is copied to the one whose lines are asked for, where each term has lines of its own: they lie
/// pages apart, where no hardware prefetcher looks.
inline constexpr std::int64_t terms_ahead = 8;

/// The width of A's panels for tiles of three vectors, which need not be a vector of lanes.
inline constexpr std::int64_t narrow_width = 8;

/// Rows of `width` elements, by vectors of at most MostLanes; what fills none is copied under a mask.
template <std::int64_t MostLanes, class T>
HWY_INLINE void copy_block(const T* from, std::int64_t stride, std::int64_t width, std::int64_t rows, T* to) {
  const hn::CappedTag<T, MostLanes> d;
  constexpr auto step = static_cast<std::int64_t>(hn::MaxLanes(d));
  const auto rest = first_lanes(d, static_cast<std::size_t>(width % step));
  for (std::int64_t p = 0; p < rows; ++p, from += stride, to += width) {
    std::int64_t l = 0;
    for (; l + step <= width; l += step) hn::StoreU(hn::LoadU(d, from + l), d, to + l);
    if (l < width) store_first(load_first(rest, d, from + l), rest, d, to + l);
  }
}

template <class T>
HWY_INLINE void ask_for_rows(const T* from, std::int64_t stride, std::int64_t width, std::int64_t rows) {
  for (std::int64_t p = 0; p < rows; ++p, from += stride)
    for (std::int64_t l = 0; l < width; l += line_elements<T>) __builtin_prefetch(from + l);
}

/// Rows of fewer elements than the panel is wide: zeros follow them.
template <class T>
HWY_INLINE void copy_short_rows(const T* from, std::int64_t stride, std::int64_t lanes, std::int64_t width,
                                std::int64_t rows, T* to) {
  const Lanes<T> d;
  constexpr std::int64_t step = lane_count<T>;
  const std::int64_t whole = lanes / step * step;
  const auto rest = first_lanes(d, static_cast<std::size_t>(lanes - whole));
  for (std::int64_t p = 0; p < rows; ++p, from += stride, to += width) {
    std::int64_t l = 0;
    for (; l < whole; l += step) hn::StoreU(hn::LoadU(d, from + l), d, to + l);
    if (l < lanes && l + step <= width) {
      hn::StoreU(load_first(rest, d, from + l), d, to + l);
      l += step;
    }
    for (; l + step <= width; l += step) hn::StoreU(hn::Zero(d), d, to + l);
    for (; l < width; ++l) to[l] = l < lanes ? from[l] : T(0);
  }
}

/// Zeros in the lanes of a panel from one on, or from some before it.
template <class T>
HWY_INLINE void clear_lanes(std::int64_t first, std::int64_t width, std::int64_t rows, T* panel) {
  const hn::Full128<T> d;
  constexpr auto step = static_cast<std::int64_t>(hn::MaxLanes(d));
  const bool is_whole = width % step == 0;
  for (std::int64_t p = 0; p < rows; ++p, panel += width) {
    std::int64_t l = is_whole ? first / step * step : first;
    for (; is_whole && l < width; l += step) hn::StoreU(hn::Zero(d), d, panel + l);
    for (; l < width; ++l) panel[l] = T(0);
  }
}

/// Lanes are neighbours: a few rows at a time are dealt out to the panels, so that each panel takes whole lines, and
/// lines of different panels, which may all fall into one set of L1, need not stay there together.
template <class T>
void copy_rows(const T* from, std::int64_t term_stride, std::int64_t lanes, std::int64_t width, std::int64_t terms,
               T* panels) {
  constexpr std::int64_t at_once = terms_ahead;
  const std::int64_t whole = lanes / width * width;
  for (std::int64_t begin = 0; begin < terms; begin += at_once, from += at_once * term_stride) {
    const std::int64_t rows = terms - begin < at_once ? terms - begin : at_once;
    const bool asks = begin + 2 * at_once <= terms;
    T* to = panels + begin * width;
    for (std::int64_t first = 0; first < whole; first += width, to += width * terms) {
      if (asks) ask_for_rows(from + first + at_once * term_stride, term_stride, width, rows);
      if (width == narrow_width)
        copy_block<narrow_width>(from + first, term_stride, width, rows, to);
      else
        copy_block<lane_count<T>>(from + first, term_stride, width, rows, to);
    }
    if (whole < lanes) copy_short_rows(from + whole, term_stride, lanes - whole, width, rows, to);
  }
}

inline void copy_rows(const std::complex<double>* from, std::int64_t term_stride, std::int64_t lanes,
                      std::int64_t width, std::int64_t terms, std::complex<double>* panels) {
  copy_rows(reinterpret_cast<const double*>(from), 2 * term_stride, 2 * lanes, 2 * width, terms,
            reinterpret_cast<double*>(panels));
}

/// Rows 0, s, 2s, ... of 128 bits each, side by side in one vector; s is a 128-bit register's width.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_rows(D d, const T* from, std::int64_t stride) {
  if constexpr (hn::MaxLanes(D()) * sizeof(T) == 16) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr auto rows = static_cast<std::int64_t>(hn::MaxLanes(half));
    return hn::Combine(d, load_rows(half, from + rows * stride, stride), load_rows(half, from, stride));
  }
}

/// As many rows as D has lanes and as many terms as a 128-bit register has, turned in registers.
template <class D, class T = hn::TFromD<D>>
  requires(sizeof(T) == 4)
HWY_INLINE void turn_block(D d, const T* from, std::int64_t lane_stride, std::int64_t width, T* panel) {
  const auto r0 = load_rows(d, from, lane_stride);
  const auto r1 = load_rows(d, from + lane_stride, lane_stride);
  const auto r2 = load_rows(d, from + 2 * lane_stride, lane_stride);
  const auto r3 = load_rows(d, from + 3 * lane_stride, lane_stride);
  const auto low02 = hn::InterleaveLower(d, r0, r2);
  const auto low13 = hn::InterleaveLower(d, r1, r3);
  const auto high02 = hn::InterleaveUpper(d, r0, r2);
  const auto high13 = hn::InterleaveUpper(d, r1, r3);
  hn::StoreU(hn::InterleaveLower(d, low02, low13), d, panel);
  hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, panel + width);
  hn::StoreU(hn::InterleaveLower(d, high02, high13), d, panel + 2 * width);
  hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, panel + 3 * width);
}

template <class D, class T = hn::TFromD<D>>
  requires(sizeof(T) == 8)
HWY_INLINE void turn_block(D d, const T* from, std::int64_t lane_stride, std::int64_t width, T* panel) {
  const auto r0 = load_rows(d, from, lane_stride);
  const auto r1 = load_rows(d, from + lane_stride, lane_stride);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, panel);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, panel + width);
}

template <class T>
void gather(const T* from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes, std::int64_t width,
            std::int64_t terms, T* panel) {
  const std::int64_t apart = lane_stride < 0 ? -lane_stride : lane_stride;
  const std::int64_t lanes_of_a_line = apart == 0 ? lanes : apart < line_elements<T> ? line_elements<T> / apart : 1;
  const bool asks = term_stride >= line_elements<T> || term_stride <= -line_elements<T>;
  for (std::int64_t p = 0; p < terms; ++p, from += term_stride, panel += width) {
    if (asks && p + terms_ahead < terms)
      for (std::int64_t l = 0; l < lanes; l += lanes_of_a_line)
        __builtin_prefetch(from + l * lane_stride + terms_ahead * term_stride);
    for (std::int64_t l = 0; l < lanes; ++l) panel[l] = from[l * lane_stride];
  }
}

/// Every second element. Reads none behind the last one, which may be the operand's last, too.
template <class T>
HWY_INLINE void copy_every_second(const T* from, std::int64_t count, T* to) {
  const Lanes<T> d;
  constexpr std::int64_t step = lane_count<T>;
  const auto but_last = first_lanes(d, static_cast<std::size_t>(step - 1));
  for (; count >= step; count -= step, from += 2 * step, to += step)
    hn::StoreU(hn::ConcatEven(d, load_first(but_last, d, from + step), hn::LoadU(d, from)), d, to);
  for (; count > 0; --count, from += 2) *to++ = *from;
}

/// Every second element of a row is a lane.
template <class T>
HWY_NOINLINE void gather_every_second(const T* from, std::int64_t term_stride, std::int64_t lanes, std::int64_t width,
                                      std::int64_t terms, T* panel) {
  for (std::int64_t p = 0; p < terms; ++p, from += term_stride, panel += width) {
    if (p + terms_ahead < terms) ask_for_rows(from + terms_ahead * term_stride, 0, 2 * lanes, 1);
    copy_every_second(from, lanes, panel);
  }
}

/// Numbers of 16 bytes whose terms are neighbours: as many rows side by side as a vector holds.
HWY_NOINLINE inline void turn_whole(const std::complex<double>* from, std::int64_t lane_stride, std::int64_t lanes,
                                    std::int64_t width, std::int64_t terms, std::complex<double>* panel) {
  const Lanes<double> d;
  constexpr std::int64_t step = lane_count<double> / 2;
  for (std::int64_t p = 0; p < terms; ++p, ++from, panel += width) {
    std::int64_t l = 0;
    for (; l + step <= lanes; l += step)
      hn::StoreU(load_rows(d, reinterpret_cast<const double*>(from + l * lane_stride), lane_stride), d,
                 reinterpret_cast<double*>(panel + l));
    for (; l < lanes; ++l) panel[l] = from[l * lane_stride];
  }
}

/// As many lanes as D has, which lie at `from`, for a stretch of terms; `more` lanes follow.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void turn_lanes(D d, const T* from, std::int64_t lane_stride, std::int64_t width, std::int64_t terms,
                           bool more, T* panel) {
  constexpr auto step = static_cast<std::int64_t>(hn::MaxLanes(hn::Full128<T>()));
  constexpr auto rows = static_cast<std::int64_t>(hn::MaxLanes(d));
  for (std::int64_t p = 0; p < terms; p += step) {
    if (more && p % line_elements<T> == 0)
      for (std::int64_t r = rows; r < 2 * rows; ++r) __builtin_prefetch(from + r * lane_stride + p);
    turn_block(d, from + p, lane_stride, width, panel + p * width);
  }
}

/// Fewer lanes than a block has: zeros stand for the others.
template <class T>
HWY_INLINE void turn_some_lanes(const T* from, std::int64_t lane_stride, std::int64_t lanes, std::int64_t width,
                                std::int64_t terms, T* panel) {
  const hn::Full128<T> d;
  constexpr auto step = static_cast<std::int64_t>(hn::MaxLanes(d));
  alignas(16) T block[step * step] = {};
  for (std::int64_t p = 0; p < terms; p += step) {
    for (std::int64_t r = 0; r < lanes; ++r) hn::Store(hn::LoadU(d, from + r * lane_stride + p), d, block + r * step);
    turn_block(d, block, step, width, panel + p * width);
  }
}

/// Terms are neighbours: the strip is turned block by block, eight rows at a time where a vector holds so many.
template <class T>
void turn(const T* from, std::int64_t lane_stride, std::int64_t lanes, std::int64_t width, std::int64_t terms,
          T* panel) {
  const hn::CappedTag<T, 8> wide;
  const hn::Full128<T> narrow;
  constexpr auto wide_step = static_cast<std::int64_t>(hn::MaxLanes(wide));
  constexpr auto step = static_cast<std::int64_t>(hn::MaxLanes(narrow));
  const std::int64_t wide_lanes = lanes / wide_step * wide_step;
  const std::int64_t whole_lanes = lanes / step * step;
  const std::int64_t whole_terms = terms / step * step;
  // Eight lines of a few rows at a time: rows a power of two apart push each other out of L1 before a second visit, and
  // the rows that follow lie on other pages, where no hardware prefetcher looks.
  constexpr std::int64_t stretch = 8 * line_elements<T>;
  for (std::int64_t begin = 0; begin < whole_terms; begin += stretch) {
    const std::int64_t here = whole_terms - begin < stretch ? whole_terms - begin : stretch;
    const T* rows = from + begin;
    T* to = panel + begin * width;
    std::int64_t l = 0;
    for (; l < wide_lanes; l += wide_step)
      turn_lanes(wide, rows + l * lane_stride, lane_stride, width, here, l + wide_step < whole_lanes, to + l);
    for (; l < whole_lanes; l += step)
      turn_lanes(narrow, rows + l * lane_stride, lane_stride, width, here, l + step < whole_lanes, to + l);
    // What is left begins with lanes that are there already, or ends with zeros where the panel has room for them.
    if (l < lanes && lanes >= step)
      turn_lanes(narrow, rows + (lanes - step) * lane_stride, lane_stride, width, here, false, to + lanes - step);
    else if (l < lanes && width % step == 0)
      turn_some_lanes(rows, lane_stride, lanes, width, here, to);
    else if (l < lanes)
      gather(rows, lane_stride, 1, lanes, width, here, to);
  }
  gather(from + whole_terms, lane_stride, 1, lanes, width, terms - whole_terms, panel + whole_terms * width);
}

/// Every second element of a lane is a term: a few lanes' terms are brought together, then turned.
template <class T>
HWY_NOINLINE void turn_every_second(const T* from, std::int64_t lane_stride, std::int64_t lanes, std::int64_t width,
                                    std::int64_t terms, T* panel) {
  constexpr std::int64_t stretch = 8 * line_elements<T>;
  constexpr std::int64_t pitch = stretch + line_elements<T>;
  constexpr std::int64_t most_lanes = 8;
  alignas(64) T rows[most_lanes * pitch];
  for (std::int64_t begin = 0; begin < terms; begin += stretch) {
    const std::int64_t here = terms - begin < stretch ? terms - begin : stretch;
    for (std::int64_t l = 0; l < lanes; l += most_lanes) {
      const std::int64_t count = lanes - l < most_lanes ? lanes - l : most_lanes;
      for (std::int64_t r = 0; r < count; ++r)
        copy_every_second(from + (l + r) * lane_stride + 2 * begin, here, rows + r * pitch);
      turn(rows, pitch, count, width, here, panel + begin * width + l);
    }
  }
}

/// Copies lanes of an operand into micro-panels of `width` lanes, `width` * terms elements apart:
///
///     panels[(l / width) * width * terms + p * width + l % width] = from[l * lane_stride + p * term_stride]
///
/// for l < lanes and p < terms; what is left of the last panel becomes zero. For B a lane is a column, for A a row. Any
/// strides.
template <class T>
void pack_panels(const T* from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes,
                 std::int64_t width, std::int64_t terms, T* panels) {
  if (lane_stride == 1) {
    copy_rows(from, term_stride, lanes, width, terms, panels);
    return;
  }
  for (std::int64_t first = 0; first < lanes; first += width, from += width * lane_stride, panels += width * terms) {
    const std::int64_t here = lanes - first < width ? lanes - first : width;
    if constexpr (sizeof(T) == 16) {
      for (std::int64_t p = 0; p < terms; ++p)
        for (std::int64_t l = here; l < width; ++l) panels[p * width + l] = T(0);
    } else if (here < width) {
      clear_lanes(here, width, terms, panels);
    }
    if constexpr (sizeof(T) == 16) {
      if (term_stride == 1)
        turn_whole(from, lane_stride, here, width, terms, panels);
      else
        gather(from, lane_stride, term_stride, here, width, terms, panels);
    } else if (term_stride == 1)
      turn(from, lane_stride, here, width, terms, panels);
    else if (term_stride == 2)
      turn_every_second(from, lane_stride, here, width, terms, panels);
    else if (lane_stride == 2)
      gather_every_second(from, term_stride, here, width, terms, panels);
    else
      gather(from, lane_stride, term_stride, here, width, terms, panels);
  }
}

/// Numbers of eight bytes are moved as such.
inline void pack_complex_panels(const std::complex<float>* from, std::int64_t lane_stride, std::int64_t term_stride,
                                std::int64_t lanes, std::int64_t width, std::int64_t terms,
                                std::complex<float>* panels) {
  pack_panels(reinterpret_cast<const double*>(from), lane_stride, term_stride, lanes, width, terms,
              reinterpret_cast<double*>(panels));
}

}  // namespace exactile::cpu::HWY_NAMESPACE
