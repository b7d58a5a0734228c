// SPDX-License-Identifier: Apache-2.0
/// \file How operands lie that are read in place.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "cpu/caches.hpp"
#include "cpu/orientation.hpp"

namespace exactile::cpu {

/// As a number that cannot overflow: k of an operand that is broadcast is bounded by nothing but its type.
[[nodiscard]] inline double bytes_of(std::int64_t rows, std::int64_t columns, std::int64_t element_size) {
  return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(element_size);
}

/// The share of a B that is walked down its rows, a panel's width of each, whose lines no prefetcher brings: it follows
/// rows that share a page.
[[nodiscard]] inline double walked_share_of_b(const Orientation& o, std::int64_t element_size) {
  constexpr double page = 4096;
  return std::min(1.0, std::abs(static_cast<double>(o.b.row_stride)) * static_cast<double>(element_size) / page);
}

/// The share of a B that is read in place, a panel down `rows` of its rows, whose lines come each from a page of its
/// own and by a walk of the page tables, as these have more pages than the second-level TLB has entries (2048 on Zen,
/// 1536 to 2048 on Intel's); rows shorter than a page share one.
[[nodiscard]] inline double paged_share_of_b(const Orientation& o, std::int64_t rows, std::int64_t element_size) {
  constexpr double reach = 4096.0 * 2048;  // of all entries, a page each
  return walked_share_of_b(o, element_size) * std::min(1.0, bytes_of(rows, o.n, element_size) / reach);
}

/// How many waits for a panel's row, a line or so, a sweep over `rows` of them is worth, where rows displace one
/// another: strides with a large power of two meet few of L1's sets, whose lines of one way are a page apart. Where all
/// rows meet one set each is waited for; measured, the wait falls with the square of the sets' number, as fetches
/// overlap.
[[nodiscard]] inline double displaced_share(std::int64_t rows, std::int64_t row_bytes, std::int64_t stride_bytes) {
  constexpr std::int64_t way_bytes = 4096;
  const std::int64_t step = std::gcd(stride_bytes, way_bytes);
  if (rows <= caches().l1 / std::max(step, row_bytes)) return 0;
  const double share = static_cast<double>(step) / static_cast<double>(way_bytes);
  return share * share;
}

/// Whether an operand comes from memory, see streamed_rows.
[[nodiscard]] inline bool a_streams(const Orientation& o, std::int64_t element_size) {
  return bytes_of(o.m, o.k, element_size) > static_cast<double>(caches().l2);
}

/// Whether L2 holds all operands.
template <class T>
[[nodiscard]] bool stays_in_l2(const Orientation& o) {
  constexpr std::int64_t size = sizeof(T);
  const double all = bytes_of(o.m, o.k, size) + bytes_of(o.k, o.n, size) + bytes_of(o.m, o.n, size);
  return all <= static_cast<double>(caches().l2);
}

[[nodiscard]] inline bool b_by_rows(const Orientation& o) { return o.b.column_stride == 1 || o.n == 1; }

/// A B whose columns are no neighbours is copied to so many bytes of the stack, at most: what L1 holds beside A and C.
inline constexpr std::int64_t most_copied_bytes = 8192;

/// Whether it is, in rows of whole lines, which no vector is longer than.
[[nodiscard]] inline bool copies_b(const Orientation& o, std::int64_t element_size) {
  constexpr std::int64_t line = 64;
  const double row = std::ceil(bytes_of(1, o.n, element_size) / line) * line;
  return !b_by_rows(o) && static_cast<double>(o.k) * row <= static_cast<double>(most_copied_bytes);
}

[[nodiscard]] inline bool a_by_rows(const Orientation& o) { return o.a.column_stride == 1 || o.k == 1; }
[[nodiscard]] inline bool a_by_columns(const Orientation& o) { return o.a.row_stride == 1 || o.m == 1; }

}  // namespace exactile::cpu
