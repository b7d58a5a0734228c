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

#include "cpu/micro/highway_complex.hpp"
#include "cpu/micro/highway_pipelined.hpp"
#include "cpu/micro/highway_rows_of_a.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// sum += what a lane of A and a lane of B stand for.
template <class K>
struct MultiplyAdd {
  static HWY_INLINE void into(Vector<K>& sum, Vector<K> a, Vector<K> b) { multiply_add_into(sum, a, b); }
};
#if HWY_ARCH_X86
/// Integers wrap. Assembly, because the compiler would begin more products than there are registers.
template <>
struct MultiplyAdd<std::int32_t> {
  static HWY_INLINE void into(Vector<std::int32_t>& sum, Vector<std::int32_t> a, Vector<std::int32_t> b) {
    Vector<std::int32_t> product;
    asm("vpmulld %2, %1, %0" : "=v"(product.raw) : "v"(a.raw), "v"(b.raw));
    asm("vpaddd %1, %0, %0" : "+v"(sum.raw) : "v"(product.raw));
  }
};
template <>
struct MultiplyAdd<std::int64_t> {
  static HWY_INLINE void into(Vector<std::int64_t>& sum, Vector<std::int64_t> a, Vector<std::int64_t> b) {
    Vector<std::int64_t> product;
    if constexpr (sizeof(product) == 64)
      asm("vpmullq %2, %1, %0" : "=v"(product.raw) : "v"(a.raw), "v"(b.raw));
    else
      product = hn::Mul(a, b);
    asm("vpaddq %1, %0, %0" : "+v"(sum.raw) : "v"(product.raw));
  }
};
#else
/// Integers wrap.
template <class K>
  requires(std::is_integral_v<K>)
struct MultiplyAdd<K> {
  static HWY_INLINE void into(Vector<K>& sum, Vector<K> a, Vector<K> b) { sum = multiply_add(a, b, sum); }
};
#endif
template <class T>
struct MultiplyAdd<std::complex<T>> : MultiplyAdd<T> {};

/// What a kernel does beside its multiply-adds. `row_of_b` sees each row of B as it is loaded, `step` comes before each
/// `terms` terms.
template <class T>
struct NothingAside {
  static constexpr int terms = 4;
  template <int Vectors>
  HWY_INLINE void row_of_b(const T*, const Vector<T> (&)[Vectors]) const {}
  HWY_INLINE void step() const {}
};

/// Asks for the rows of the panels of B that come, and copies this one's, one after the other, where there is a place.
template <class T>
struct PackingAside : NothingAside<T> {
  T* packed_b;

  template <int Vectors>
  HWY_INLINE void row_of_b(const T* b, const Vector<T> (&b_row)[Vectors]) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      // The columns that follow are packed soon; their rows lie pages apart, where no hardware prefetcher looks.
      __builtin_prefetch(b + (packing_ahead * Vectors + v) * lane_count<T>);
      if (packed_b != nullptr) hn::StoreU(b_row[v], Lanes<T>(), packed_b + v * lane_count<T>);
    }
    if (packed_b != nullptr) packed_b += Vectors * lane_count<T>;
  }
};

/// Asks for what comes next. A's elements have `Parts` numbers.
template <class T, int Vectors, int Parts>
struct AskingAside : NothingAside<T> {
  static constexpr int terms = 64 / Parts / static_cast<int>(sizeof(T));
  Ahead<T> ahead;  ///< what is left to be asked for

  HWY_INLINE void step() {
    const auto* line = static_cast<const char*>(ahead.a);
    for (int i = ahead.a_rows; i > 0; --i, line += ahead.a_stride) __builtin_prefetch(line);
    ahead.a = static_cast<const char*>(ahead.a) + 64;
    if (ahead.line_rows == 0) return;
    --ahead.line_rows;
    constexpr int width = Vectors * lane_count<T>;
#pragma GCC unroll 4
    for (int j = 0; j < width; j += terms * Parts) __builtin_prefetch(ahead.lines + j, 1);
    __builtin_prefetch(ahead.lines + width - 1, 1);  // rows that start within a line end in one more
    ahead.lines += ahead.line_stride;
  }
};

/// C <- alpha * sums + beta * C, see update(). The shape counts numbers.
template <class K, int Rows, int Vectors, bool Masked, class T = Number<Lane<K>>>
HWY_INLINE void finish_tile(Vector<T> (&sums)[Rows][Vectors], const TileShape& shape, T* c, Sum<K> alpha, Sum<K> beta,
                            [[maybe_unused]] FirstLanes<Lanes<T>> mask) {
  if constexpr (parts<Lane<K>> == 2)
    update_complex<T, Rows, Vectors, Masked>(sums, shape, c, alpha, beta);
  else
    update<T, Rows, Vectors, Masked>(sums, c, shape.c_stride, alpha, beta, mask);
}

/// Zeros, or the corrections that lie behind the last terms.
template <class K, AOrder Order, int Rows, int Vectors, bool Masked, class T = Number<Lane<K>>>
HWY_INLINE void begin_sums(Vector<T> (&sums)[Rows][Vectors], [[maybe_unused]] const TileShape& shape,
                           [[maybe_unused]] const T* a, [[maybe_unused]] const T* b,
                           [[maybe_unused]] FirstLanes<Lanes<T>> mask) {
  Vector<T> of_columns[Vectors];
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) {
    of_columns[v] = zero<T>();
    if constexpr (Elements<K>::corrections == 1)
      of_columns[v] = load<T, Vectors, Masked>(b + shape.k * shape.b_stride, v, mask);
  }
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) sums[i][v] = of_columns[v];
    if constexpr (Elements<K>::corrections == 1) {
      const T of_row = Order == AOrder::rows ? a[i * shape.a_stride + shape.k] : a[shape.k * shape.a_stride + i];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) sums[i][v] = hn::Add(sums[i][v], hn::Set(Lanes<T>(), of_row));
    }
  }
}

/// Rows and the shape's columns and strides count numbers, but for A's stride in row order.
template <class K, AOrder Order, int Rows, int Vectors, bool Masked, class Aside, class T = Number<Lane<K>>>
HWY_INLINE void multiply_numbers(const TileShape& shape, const T* a_rows, const T* b, T* c, Sum<K> alpha, Sum<K> beta,
                                 Aside aside) {
  const Lanes<T> d;
  const auto mask = first_lanes(d, static_cast<std::size_t>(shape.last_lanes));
  Vector<T> sums[Rows][Vectors];
  begin_sums<K, Order, Rows, Vectors, Masked>(sums, shape, a_rows, b, mask);
  constexpr int of_element = parts<Lane<K>>;
  constexpr int blocks = of_element == 1 ? block_rows<T, Order, Rows, Vectors> : 0;
  RowsOfA<T, Order, Rows, blocks, of_element> a(a_rows, shape.a_stride);
  const std::int64_t b_stride = shape.b_stride;
  // Of kinds whose B is read in place. Whole vectors have a mask, too, where whole_as_partial.
  constexpr bool asks = Vectors == 1 || std::is_integral_v<K>;

  const auto term = [&]<int Term, bool Whole, int... Row>(std::integer_sequence<int, Row...>)
      __attribute__((always_inline)) {
    Vector<T> b_row[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) b_row[v] = load<T, Vectors, Masked, asks>(b, v, mask);
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
  // Three copies of a term would be a quarter of the kernel's code.
#pragma GCC unroll 1
  for (; k > 0; --k) {
    term.template operator()<0, false>(rows);
    a.advance(1);
  }
  finish_tile<K, Rows, Vectors, Masked>(sums, shape, c, alpha, beta, mask);
}

template <class Lane>
HWY_INLINE auto* numbers_of(Lane* lanes) {
  if constexpr (parts<std::remove_const_t<Lane>> == 1)
    return lanes;
  else if constexpr (std::is_const_v<Lane>)
    return reinterpret_cast<const Number<std::remove_const_t<Lane>>*>(lanes);
  else
    return reinterpret_cast<Number<Lane>*>(lanes);
}

/// The shape in numbers; see multiply_numbers().
template <class Lane, AOrder Order>
HWY_INLINE TileShape in_numbers(const TileShape& shape) {
  constexpr std::int64_t each = parts<Lane>;
  return {.a_stride = (Order == AOrder::columns ? each : 1) * shape.a_stride,
          .b_stride = each * shape.b_stride,
          .c_stride = each * shape.c_stride,
          .k = shape.k,
          .last_lanes = each * shape.last_lanes,
          .conjugates_a = shape.conjugates_a,
          .conjugates_b = shape.conjugates_b};
}

template <class K, AOrder Order, int Rows, int Vectors, bool Masked, class Aside, class T = Lane<K>>
HWY_INLINE void multiply_tile(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta, Aside aside) {
  multiply_numbers<K, Order, parts<T> * Rows, Vectors, Masked>(in_numbers<T, Order>(shape), numbers_of(a),
                                                               numbers_of(b), numbers_of(c), alpha, beta, aside);
}

template <class K, AOrder Order, int Rows, int Vectors, bool Masked, class T = Lane<K>>
void tile_kernel(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta) {
  multiply_tile<K, Order, Rows, Vectors, Masked>(shape, a, b, c, alpha, beta, NothingAside<Number<T>>());
}

template <class T, AOrder Order, int Rows, int Vectors>
void packing_kernel(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta, T* packed_b) {
  multiply_tile<T, Order, Rows, Vectors, false>(shape, a, b, c, alpha, beta,
                                                PackingAside<Number<T>>{{}, numbers_of(packed_b)});
}

template <class K, AOrder Order, int Rows, int Vectors, bool Masked = false, class T = Lane<K>>
void asking_kernel(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta, const Ahead<T>& ahead) {
  using N = Number<T>;
  constexpr bool has_pipeline = std::is_floating_point_v<Number<K>> && Order == AOrder::columns &&
                                parts<T> * Rows == pipelined_rows && Vectors == pipelined_vectors &&
                                sizeof(Vector<N>) == 64;
  const Ahead<N> numbers_ahead{
      ahead.a,         ahead.a_stride,     ahead.a_rows, numbers_of(ahead.lines), parts<T> * ahead.line_stride,
      ahead.line_rows, ahead.lines_are_far};
  if constexpr (has_pipeline) {
    const TileShape in = in_numbers<T, Order>(shape);
    if (suits_pipeline<N>(in)) {
      Vector<N> sums[pipelined_rows][pipelined_vectors];
      pipelined_sums<parts<T>>(sums, in.k, numbers_of(a), numbers_of(b), numbers_ahead);
      const auto all = first_lanes(Lanes<N>(), static_cast<std::size_t>(lane_count<N>));
      finish_tile<K, pipelined_rows, pipelined_vectors, false>(sums, in, numbers_of(c), alpha, beta, all);
      return;
    }
  }
  multiply_tile<K, Order, Rows, Vectors, Masked>(shape, a, b, c, alpha, beta,
                                                 AskingAside<N, Vectors, parts<T>>{{}, numbers_ahead});
}

/// Whether tiles of whole vectors are those of partial ones: the mask of AVX-512 costs next to nothing where a
/// multiply-add is two instructions, or takes several terms.
template <class K>
inline constexpr bool whole_as_partial = sizeof(Vector<Number<Lane<K>>>) == 64 &&
                                         (std::is_integral_v<K> || std::is_same_v<K, I8Pairs> ||
                                          std::is_same_v<K, I8Quads> || std::is_same_v<K, I16Pairs> ||
                                          std::is_same_v<K, I32Wide> || std::is_same_v<K, Bf16Pairs>);

/// All heights of one width, as a table indexed by rows - 1.
template <class K, AOrder Order, int Vectors, bool Masked, int... Height>
constexpr auto heights(std::integer_sequence<int, Height...>) {
  return std::array{&tile_kernel < K, Order, Height + 1, Vectors, Masked || whole_as_partial < K >> ...};
}

/// The heights of tiles that are not short.
template <int MaxRows>
inline constexpr int least_height = (MaxRows + 1) / 2;
template <int MaxRows>
using TallHeights = std::make_integer_sequence<int, MaxRows - least_height<MaxRows> + 1>;

template <class T, AOrder Order, int Vectors, int Least, int... Height>
constexpr auto packing_heights(std::integer_sequence<int, Height...>) {
  return std::array{&packing_kernel<T, Order, Height + Least, Vectors>...};
}

template <class K, AOrder Order, int Vectors, int Least, int... Height>
constexpr auto asking_heights(std::integer_sequence<int, Height...>) {
  return std::array{&asking_kernel<K, Order, Height + Least, Vectors>...};
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

template <class K, AOrder Order, int Vectors, int MaxRows>
auto find_asking_tile(int rows) {
  constexpr int least = least_height<MaxRows>;
  static constexpr auto table = asking_heights<K, Order, Vectors, least>(TallHeights<MaxRows>());
  return table[static_cast<std::size_t>(rows - least)];
}

template <class K, int Vectors, int MaxRows>
auto find_asking_tile(AOrder order, int rows) {
  return order == AOrder::rows ? find_asking_tile<K, AOrder::rows, Vectors, MaxRows>(rows)
                               : find_asking_tile<K, AOrder::columns, Vectors, MaxRows>(rows);
}

template <class T, AOrder Order, int Vectors, int MaxRows>
auto find_packing_tile(int rows) {
  constexpr int least = least_height<MaxRows>;
  static constexpr auto table = packing_heights<T, Order, Vectors, least>(TallHeights<MaxRows>());
  return table[static_cast<std::size_t>(rows - least)];
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
