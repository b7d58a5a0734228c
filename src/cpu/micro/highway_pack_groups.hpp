// SPDX-License-Identifier: Apache-2.0
/// \file Packing narrow terms; what highway_pack.hpp is for operands that are packed as they are.
#pragma once

#include <algorithm>
#include <bit>

#include "cpu/micro/highway_groups.hpp"
#include "cpu/micro/highway_pack.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// Where the term is that becomes number `p` of `terms`.
template <class G>
[[nodiscard]] HWY_INLINE std::int64_t place_of_term(std::int64_t p, std::int64_t terms) {
  if constexpr (G::exchanges) return (p ^ 1) < terms ? p ^ 1 : p;
  return p;
}

/// Lanes are neighbours: a row of lanes, for a group of 0 < terms <= group terms.
template <class K, class G>
HWY_INLINE void pack_row(const Input<K>* from, std::int64_t term_stride, std::int64_t lanes, std::int64_t terms,
                         Lane<K>* to) {
  const Lanes<Lane<K>> wide;
  const hn::Full128<Lane<K>> narrow;
  constexpr auto wide_step = static_cast<std::int64_t>(hn::MaxLanes(wide));
  constexpr auto step = static_cast<std::int64_t>(hn::MaxLanes(narrow));
  std::int64_t l = 0;
  if (terms == Elements<K>::group) {
    for (; l + wide_step <= lanes; l += wide_step) hn::StoreU(G::lanes(wide, from + l, term_stride), wide, to + l);
    for (; l + step <= lanes; l += step) hn::StoreU(G::lanes(narrow, from + l, term_stride), narrow, to + l);
    if (l < lanes && lanes >= step) {  // beginning with some that are there already
      l = lanes - step;
      hn::StoreU(G::lanes(narrow, from + l, term_stride), narrow, to + l);
      return;
    }
  }
  for (; l < lanes; ++l) to[l] = G::lane(terms, from + l, term_stride);
}

/// The same of fewer lanes than a vector of 128 bits has.
template <class K, class G>
HWY_INLINE void pack_short_row(const Input<K>* from, std::int64_t term_stride, std::int64_t lanes, Lane<K>* to) {
  const hn::Full128<Lane<K>> d;
  constexpr auto step = static_cast<std::int64_t>(hn::MaxLanes(d));
  constexpr std::int64_t group = Elements<K>::group;
  constexpr std::int64_t pitch = 16 / static_cast<std::int64_t>(sizeof(Input<K>));  // as much as G may read of a row
  Input<K> some[group * pitch] = {};
  for (std::int64_t p = 0; p < group; ++p)
    for (std::int64_t l = 0; l < lanes; ++l) some[p * pitch + l] = from[p * term_stride + l];
  alignas(16) Lane<K> whole[step];
  hn::Store(G::lanes(d, some, pitch), d, whole);
  for (std::int64_t l = 0; l < lanes; ++l) to[l] = whole[l];
}

/// Lanes are neighbours, of one panel.
template <class K, class G>
void pack_rows(const Input<K>* from, std::int64_t term_stride, std::int64_t lanes, std::int64_t width,
               std::int64_t terms, Lane<K>* panel) {
  constexpr std::int64_t group = Elements<K>::group;
  constexpr std::int64_t ahead = terms_ahead * group;
  for (std::int64_t p = 0; p < terms; p += group, panel += width) {
    if (p + ahead + group <= terms) ask_for_rows(from + (p + ahead) * term_stride, term_stride, lanes, group);
    const std::int64_t here = terms - p < group ? terms - p : group;
    const Input<K>* const row = from + place_of_term<G>(p, terms) * term_stride;
    if (lanes * static_cast<std::int64_t>(sizeof(Lane<K>)) < 16 && here == group)
      pack_short_row<K, G>(row, term_stride, lanes, panel);
    else
      pack_row<K, G>(row, term_stride, lanes, here, panel);
  }
}

/// The same of whole panels side by side, so that what is read of a row is long enough for prefetchers to follow.
template <class K, class G>
void pack_rows_of_panels(const Input<K>* from, std::int64_t term_stride, std::int64_t count, std::int64_t width,
                         std::int64_t terms, Lane<K>* panels) {
  constexpr std::int64_t group = Elements<K>::group;
  constexpr std::int64_t ahead = terms_ahead * group;
  const std::int64_t apart = width * packed_lanes<K>(terms);
  for (std::int64_t p = 0; p < terms; p += group, panels += width) {
    if (p + ahead + group <= terms) ask_for_rows(from + (p + ahead) * term_stride, term_stride, count * width, group);
    const std::int64_t here = terms - p < group ? terms - p : group;
    const Input<K>* const row = from + place_of_term<G>(p, terms) * term_stride;
    for (std::int64_t i = 0; i < count; ++i)
      pack_row<K, G>(row + i * width, term_stride, width, here, panels + i * apart);
  }
}

/// Terms of one lane, which are neighbours, as lanes one behind the other; `to` has room for whole vectors. Stored
/// with a mask, what is read again at once would take small products of bytes up to 1.5 times as long (Zen 5).
template <class K, class G>
HWY_INLINE void pack_terms(const Input<K>* from, std::int64_t terms, Lane<K>* to) {
  constexpr std::int64_t group = Elements<K>::group;
  const Lanes<Lane<K>> d;
  constexpr std::int64_t step = lane_count<Lane<K>> * group;
  std::int64_t p = 0;
  for (; p + step <= terms; p += step, to += lane_count<Lane<K>>)
    hn::StoreU(G::vector_of_terms(d, from + p, AllLanes()), d, to);
  if (p == terms) return;
  const std::int64_t left = terms - p;
  hn::StoreU(G::vector_of_terms(d, from + p, SomeLanes{left}), d, to);
  if (G::exchanges && left % 2 == 1)
    to[lanes_of<K>(left) - 1] = G::lane(1, from + terms - 1, 1);  // has none to change with
}

/// A row of A whose terms are neighbours.
template <class K, class G = Groups<K>>
void copy_row_of_a(const Input<K>* from, std::int64_t terms, Lane<K>* to) {
  pack_terms<K, G>(from, terms, to);
  G::finish_a(to, 1, lanes_of<K>(terms));
}

/// Any strides: stretches of a few lanes are brought into rows, then turned.
template <class K, class G>
void pack_lanes(const Input<K>* from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes,
                std::int64_t width, std::int64_t terms, Lane<K>* panel) {
  constexpr std::int64_t group = Elements<K>::group;
  constexpr std::int64_t stretch = 8 * line_elements<Lane<K>>;
  constexpr std::int64_t pitch = stretch + line_elements<Lane<K>>;
  constexpr std::int64_t most_lanes = 16;
  alignas(64) Lane<K> rows[most_lanes * pitch];
  Input<K> gathered[stretch * group];
  for (std::int64_t begin = 0; begin < terms; begin += stretch * group) {
    const std::int64_t here = terms - begin < stretch * group ? terms - begin : stretch * group;
    for (std::int64_t l = 0; l < lanes; l += most_lanes) {
      const std::int64_t count = lanes - l < most_lanes ? lanes - l : most_lanes;
      for (std::int64_t r = 0; r < count; ++r) {
        const Input<K>* lane = from + (l + r) * lane_stride + begin * term_stride;
        if (term_stride != 1) {
          for (std::int64_t p = 0; p < here; ++p) gathered[p] = lane[p * term_stride];
          lane = gathered;
        }
        pack_terms<K, G>(lane, here, rows + r * pitch);
      }
      turn(rows, pitch, count, width, lanes_of<K>(here), panel + begin / group * width + l);
    }
  }
}

/// As pack_panels(), but groups of terms become lanes: a panel has packed_lanes(terms) rows.
template <class K, bool OfB, class G = Groups<K>>
void pack_groups(const Input<K>* from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes,
                 std::int64_t width, std::int64_t terms, Lane<K>* panels) {
  constexpr std::int64_t stretch = 256 / static_cast<std::int64_t>(sizeof(Input<K>));  // of a row
  const std::int64_t groups = lanes_of<K>(terms);
  const std::int64_t rows = packed_lanes<K>(terms);
  std::int64_t packed = 0;  // panels from here on that are packed already
  for (std::int64_t first = 0; first < lanes; first += width, from += width * lane_stride, panels += width * rows) {
    const std::int64_t here = lanes - first < width ? lanes - first : width;
    if (here < width) clear_lanes(here, width, groups, panels);
    if (const std::int64_t together = std::min(stretch, lanes - first) / width;
        packed == 0 && lane_stride == 1 && together > 1) {
      pack_rows_of_panels<K, G>(from, term_stride, together, width, terms, panels);
      packed = together;
    }
    if (packed > 0)
      --packed;
    else if (lane_stride == 1)
      pack_rows<K, G>(from, term_stride, here, width, terms, panels);
    else
      pack_lanes<K, G>(from, lane_stride, term_stride, here, width, terms, panels);
    if constexpr (OfB)
      G::finish_b(panels, width, groups);
    else
      G::finish_a(panels, width, groups);
  }
}

}  // namespace exactile::cpu::HWY_NAMESPACE
