// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tiles of one vector of columns, a row after the other.
///
/// Such a tile has a multiply-add for each element of A, which reads the element by itself. One pointer walks down the
/// rows, four terms at a time, whose rows of B wait in registers: nothing is shuffled, and little is done beside the
/// multiply-adds. For processors that shuffle at the multiply-adds' expense; see block_rows for the others.
#pragma once

#include <bit>
#include <type_traits>

#include "cpu/micro/highway_tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// sum += a[Term] * b. Volatile, so that rows stay one after the other: mixed by the compiler they cost 2 % of
/// 16 x 16 x 16 in f32. AddressSanitizer sees a plain read.
template <int Term>
HWY_INLINE void multiply_add_element(Vector<float>& sum, const float* a, Vector<float> b) {
#ifdef __SANITIZE_ADDRESS__
  multiply_add_into(sum, hn::Set(Lanes<float>(), a[Term]), b);
#else
  asm volatile("vfmadd231ps %c2(%1)%{1to16%}, %3, %0"
               : "+v"(sum.raw)
               : "r"(a), "i"(4 * Term), "v"(b.raw), "m"(a[Term]));
#endif
}
template <int Term>
HWY_INLINE void multiply_add_element(Vector<double>& sum, const double* a, Vector<double> b) {
#ifdef __SANITIZE_ADDRESS__
  multiply_add_into(sum, hn::Set(Lanes<double>(), a[Term]), b);
#else
  asm volatile("vfmadd231pd %c2(%1)%{1to8%}, %3, %0" : "+v"(sum.raw) : "r"(a), "i"(8 * Term), "v"(b.raw), "m"(a[Term]));
#endif
}

/// Adds the terms of `b_rows` to every row of the tile.
template <class T, int Rows, int... Term>
HWY_INLINE void add_terms(Vector<T> (&sums)[Rows][1], const T* a, std::int64_t a_stride,
                          const Vector<T> (&b_rows)[sizeof...(Term)], std::integer_sequence<int, Term...>) {
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i, a = row_after(a, a_stride))
    (multiply_add_element<Term>(sums[i][0], a, b_rows[Term]), ...);
}

/// 0 where C is the sums as they are. Found out before the first term and without comparing numbers: that takes the
/// place of multiply-adds.
template <class T>
HWY_INLINE auto bits_beside_plain(T alpha, T beta) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return (std::bit_cast<Bits>(alpha) ^ std::bit_cast<Bits>(T(1))) | std::bit_cast<Bits>(beta);
}

template <class T, int Rows, bool Masked>
void row_kernel(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta) {
  constexpr int terms = 4;
  const auto mask = first_lanes(Lanes<T>(), static_cast<std::size_t>(shape.last_lanes));
  auto scaled = bits_beside_plain(alpha, beta);
  asm volatile("" : "+r"(scaled));
  Vector<T> sums[Rows][1];
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i) sums[i][0] = zero<T>();
  std::int64_t k = shape.k;
  for (; k >= terms; k -= terms, a += terms) {
    Vector<T> b_rows[terms];
#pragma GCC unroll 4
    for (int p = 0; p < terms; ++p, b = row_after(b, shape.b_stride)) {
      b_rows[p] = load<T, 1, Masked>(b, 0, mask);
      asm volatile("" : "+v"(b_rows[p].raw));
    }
    asm volatile("" : "+r"(a));
    add_terms<T, Rows>(sums, a, shape.a_stride, b_rows, std::make_integer_sequence<int, terms>());
    // Rows of B that were no longer needed would be overwritten by the last sums.
#pragma GCC unroll 4
    for (const Vector<T>& b_row : b_rows) asm volatile("" : : "v"(b_row.raw));
  }
  for (; k > 0; --k, ++a, b += shape.b_stride) {
    const Vector<T> b_row[1] = {load<T, 1, Masked>(b, 0, mask)};
    add_terms<T, Rows>(sums, a, shape.a_stride, b_row, std::make_integer_sequence<int, 1>());
  }
  if (scaled == 0) {
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i, c = row_after(c, shape.c_stride)) store<T, 1, Masked>(sums[i][0], c, 0, mask);
    return;
  }
  update<T, Rows, 1, Masked>(sums, c, shape.c_stride, alpha, beta, mask);
}

template <class T, bool Masked, int... Height>
constexpr auto row_heights(std::integer_sequence<int, Height...>) {
  return std::array{&row_kernel<T, Height + 1, Masked>...};
}

template <class T, int MaxRows>
auto find_row_tile(int rows, bool masked) {
  using Heights = std::make_integer_sequence<int, MaxRows>;
  static constexpr std::array table{row_heights<T, false>(Heights()), row_heights<T, true>(Heights())};
  return table[masked ? 1 : 0][static_cast<std::size_t>(rows - 1)];
}

}  // namespace exactile::cpu::HWY_NAMESPACE
