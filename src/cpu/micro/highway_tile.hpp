// SPDX-License-Identifier: Apache-2.0
/// \file
/// The micro-kernel, written once with Highway and compiled in one translation unit per instruction set.
///
/// C tile in registers, B row vectors loaded, A elements broadcast: Goto and van de Geijn, Anatomy of High-Performance
/// Matrix Multiplication (2008), with the roles of A and B exchanged because C is row-major here.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "cpu/micro/highway_pipelined.hpp"
#include "cpu/micro/highway_rows_of_a.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// sum += what a lane of A and a lane of B stand for.
template <class K>
struct MultiplyAdd {
  static HWY_INLINE void into(Vector<K>& sum, Vector<K> a, Vector<K> b) { multiply_add_into(sum, a, b); }
};

/// What a kernel does beside its multiply-adds. `row_of_b` sees each row of B as it is loaded, `step` comes before each
/// `terms` terms.
template <class T>
struct NothingAside {
  static constexpr int terms = 4;
  template <int Vectors>
  HWY_INLINE void row_of_b(const T*, const Vector<T> (&)[Vectors]) const {}
  HWY_INLINE void step() const {}
};

/// Tiles between what a packing kernel copies and what it asks for.
inline constexpr int packing_ahead = 2;

/// Copies the rows of B, one after the other.
template <class T>
struct PackingAside : NothingAside<T> {
  T* packed_b;

  template <int Vectors>
  HWY_INLINE void row_of_b(const T* b, const Vector<T> (&b_row)[Vectors]) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      // The columns that follow are packed soon; their rows lie pages apart, where no hardware prefetcher looks.
      __builtin_prefetch(b + (packing_ahead * Vectors + v) * lane_count<T>);
      hn::StoreU(b_row[v], Lanes<T>(), packed_b + v * lane_count<T>);
    }
    packed_b += Vectors * lane_count<T>;
  }
};

/// Asks for what comes next.
template <class T, int Vectors>
struct AskingAside : NothingAside<T> {
  static constexpr int terms = 64 / static_cast<int>(sizeof(T));
  Ahead<T> ahead;  ///< what is left to be asked for

  HWY_INLINE void step() {
    const auto* line = static_cast<const char*>(ahead.a);
    for (int i = ahead.a_rows; i > 0; --i, line += ahead.a_stride) __builtin_prefetch(line);
    ahead.a = static_cast<const char*>(ahead.a) + 64;
    if (ahead.line_rows == 0) return;
    --ahead.line_rows;
    constexpr int width = Vectors * lane_count<T>;
#pragma GCC unroll 4
    for (int j = 0; j < width; j += terms) __builtin_prefetch(ahead.lines + j, 1);
    __builtin_prefetch(ahead.lines + width - 1, 1);  // rows that start within a line end in one more
    ahead.lines += ahead.line_stride;
  }
};

template <class K, AOrder Order, int Rows, int Vectors, bool Masked, class Aside, class T = Lane<K>>
HWY_INLINE void multiply_tile(const TileShape& shape, const T* a_rows, const T* b, T* c, T alpha, T beta, Aside aside) {
  const Lanes<T> d;
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(shape.last_lanes));
  Vector<T> sums[Rows][Vectors];
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) sums[i][v] = zero<T>();
  }
  RowsOfA<T, Order, Rows, block_rows<T, Order, Rows, Vectors>> a(a_rows, shape.a_stride);
  const std::int64_t b_stride = shape.b_stride;

  const auto term = [&]<int Term, bool Whole, int... Row>(std::integer_sequence<int, Row...>)
      __attribute__((always_inline)) {
    Vector<T> b_row[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) b_row[v] = load<T, Vectors, Masked>(b, v, mask);
    aside.row_of_b(b, b_row);
    const auto multiply_row = [&](Vector<T>(&row_sums)[Vectors], Vector<T> element) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) MultiplyAdd<K>::into(row_sums[v], element, b_row[v]);
    };
    (multiply_row(sums[Row], a.template element<Row, Term, Whole>()), ...);
    b += b_stride;
    asm("" : "+r"(b));
    a.next_term();
  };
  constexpr std::make_integer_sequence<int, Rows> rows;

  const auto four_terms = [&]() __attribute__((always_inline)) {
    term.template operator()<0, true>(rows);
    term.template operator()<1, true>(rows);
    term.template operator()<2, true>(rows);
    term.template operator()<3, true>(rows);
    a.advance(4);
  };
  std::int64_t k = shape.k;
  if constexpr (Aside::terms == 4) {
    for (; k >= 4; k -= 4) four_terms();
  } else {
    for (; k >= Aside::terms; k -= Aside::terms) {
      aside.step();
#pragma GCC unroll 1
      for (int p = 0; p < Aside::terms; p += 4) four_terms();
    }
  }
  for (; k > 0; --k) {
    term.template operator()<0, false>(rows);
    a.advance(1);
  }
  if constexpr (Elements<K>::corrections == 1) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      const Vector<T> correction = load<T, Vectors, Masked>(b, v, mask);
#pragma GCC unroll 32
      for (int i = 0; i < Rows; ++i) sums[i][v] = hn::Add(sums[i][v], correction);
    }
  }
  update<T, Rows, Vectors, Masked>(sums, c, shape.c_stride, alpha, beta, mask);
}

template <class K, AOrder Order, int Rows, int Vectors, bool Masked, class T = Lane<K>>
void tile_kernel(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta) {
  multiply_tile<K, Order, Rows, Vectors, Masked>(shape, a, b, c, alpha, beta, NothingAside<T>());
}

template <class T, AOrder Order, int Rows, int Vectors>
void packing_kernel(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta, T* packed_b) {
  multiply_tile<T, Order, Rows, Vectors, false>(shape, a, b, c, alpha, beta, PackingAside<T>{{}, packed_b});
}

template <class K, AOrder Order, int Rows, int Vectors, bool Masked = false, class T = Lane<K>>
void asking_kernel(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta, const Ahead<T>& ahead) {
  constexpr bool has_pipeline = std::is_floating_point_v<K> && Order == AOrder::columns && Rows == pipelined_rows &&
                                Vectors == pipelined_vectors && sizeof(Vector<T>) == 64;
  if constexpr (has_pipeline) {
    if (suits_pipeline<T>(shape)) {
      pipelined_tile(shape, a, b, c, alpha, beta, ahead);
      return;
    }
  }
  multiply_tile<K, Order, Rows, Vectors, Masked>(shape, a, b, c, alpha, beta, AskingAside<T, Vectors>{{}, ahead});
}

/// All heights of one width, as a table indexed by rows - 1.
template <class K, AOrder Order, int Vectors, bool Masked, int... Height>
constexpr auto heights(std::integer_sequence<int, Height...>) {
  return std::array{&tile_kernel<K, Order, Height + 1, Vectors, Masked>...};
}

template <class T, AOrder Order, int Vectors, int... Height>
constexpr auto packing_heights(std::integer_sequence<int, Height...>) {
  return std::array{&packing_kernel<T, Order, Height + 1, Vectors>...};
}

template <class K, AOrder Order, int Vectors, int... Height>
constexpr auto asking_heights(std::integer_sequence<int, Height...>) {
  return std::array{&asking_kernel<K, Order, Height + 1, Vectors>...};
}

template <class T, bool Masked, int... Height>
constexpr auto asking_column_heights(std::integer_sequence<int, Height...>) {
  return std::array{&asking_kernel<T, AOrder::rows, Height + 1, 1, Masked>...};
}

template <class T, int MaxRows>
auto find_asking_column(int rows, bool masked) {
  using Heights = std::make_integer_sequence<int, MaxRows>;
  static constexpr std::array table{asking_column_heights<T, false>(Heights()),
                                    asking_column_heights<T, true>(Heights())};
  return table[masked ? 1 : 0][static_cast<std::size_t>(rows - 1)];
}

template <class K, int Vectors, int MaxRows>
auto find_asking_tile(AOrder order, int rows) {
  using Heights = std::make_integer_sequence<int, MaxRows>;
  static constexpr std::array table{asking_heights<K, AOrder::rows, Vectors>(Heights()),
                                    asking_heights<K, AOrder::columns, Vectors>(Heights())};
  return table[order == AOrder::columns ? 1 : 0][static_cast<std::size_t>(rows - 1)];
}

template <class T, int Vectors, int MaxRows>
auto find_packing_tile(AOrder order, int rows) {
  using Heights = std::make_integer_sequence<int, MaxRows>;
  static constexpr std::array table{packing_heights<T, AOrder::rows, Vectors>(Heights()),
                                    packing_heights<T, AOrder::columns, Vectors>(Heights())};
  return table[order == AOrder::columns ? 1 : 0][static_cast<std::size_t>(rows - 1)];
}

template <class T, int Vectors, int MaxRows>
auto find_tile(AOrder order, int rows, bool masked) {
  using Heights = std::make_integer_sequence<int, MaxRows>;
  static constexpr std::array table{
      heights<T, AOrder::rows, Vectors, false>(Heights()), heights<T, AOrder::rows, Vectors, true>(Heights()),
      heights<T, AOrder::columns, Vectors, false>(Heights()), heights<T, AOrder::columns, Vectors, true>(Heights())};
  const std::size_t which = (order == AOrder::columns ? 2U : 0U) + (masked ? 1U : 0U);
  return table[which][static_cast<std::size_t>(rows - 1)];
}

}  // namespace exactile::cpu::HWY_NAMESPACE
