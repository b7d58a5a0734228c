// SPDX-License-Identifier: Apache-2.0
/// \file
/// The micro-kernel, written once with Highway and compiled in one translation unit per instruction set.
///
/// C tile in registers, B row vectors loaded, A elements broadcast: Goto and van de Geijn, Anatomy of High-Performance
/// Matrix Multiplication (2008), with the roles of A and B exchanged because C is row-major here.
#pragma once

#include <hwy/highway.h>

#include <array>
#include <utility>

#include "cpu/micro/tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Lanes = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Lanes<T>>;
template <class T>
inline constexpr int lane_count = static_cast<int>(hn::MaxLanes(Lanes<T>()));

/// A register of zeros by the instruction that processors know to cost nothing. The compiler would make one and copy
/// it.
template <class T>
HWY_INLINE Vector<T> zero() {
  if constexpr (sizeof(Vector<T>) == 64) {
    Vector<T> zeros;
    asm volatile("vpxord %0, %0, %0" : "=v"(zeros.raw));
    return zeros;
  } else {
    return hn::Zero(Lanes<T>());
  }
}

/// sum += a * b in the form that overwrites the sum. Left the choice, GCC overwrites a factor in an unrolled loop, and
/// then spends copies and spills on moving the sums back to where they were.
HWY_INLINE void multiply_add_into(Vector<float>& sum, Vector<float> a, Vector<float> b) {
  asm("vfmadd231ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
}
HWY_INLINE void multiply_add_into(Vector<double>& sum, Vector<double> a, Vector<double> b) {
  asm("vfmadd231pd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
}

template <class T, int Vectors, bool Masked>
HWY_INLINE Vector<T> load(const T* from, int v, hn::Mask<Lanes<T>> mask) {
  if (Masked && v == Vectors - 1) return hn::MaskedLoad(mask, Lanes<T>(), from + v * lane_count<T>);
  return hn::LoadU(Lanes<T>(), from + v * lane_count<T>);
}

template <class T, int Vectors, bool Masked>
HWY_INLINE void store(Vector<T> value, T* to, int v, hn::Mask<Lanes<T>> mask) {
  if (Masked && v == Vectors - 1)
    hn::BlendedStore(value, mask, Lanes<T>(), to + v * lane_count<T>);
  else
    hn::StoreU(value, Lanes<T>(), to + v * lane_count<T>);
}

/// The next row of C. Opaque: the compiler would else work out all rows' addresses before the first store, and spill.
template <class T>
HWY_INLINE T* row_after(T* row, std::int64_t stride) {
  row += stride;
  asm("" : "+r"(row));
  return row;
}

/// C <- alpha * sums + beta * C for the whole tile; the two frequent cases skip what they do not need.
template <class T, int Rows, int Vectors, bool Masked>
HWY_INLINE void update(Vector<T> (&sums)[Rows][Vectors], T* c, std::int64_t c_stride, T alpha, T beta,
                       hn::Mask<Lanes<T>> mask) {
  const Lanes<T> d;
  if (beta == T(0) && alpha == T(1)) {
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i, c = row_after(c, c_stride)) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) store<T, Vectors, Masked>(sums[i][v], c, v, mask);
    }
    return;
  }
  const Vector<T> alphas = hn::Set(d, alpha);
  if (beta == T(0)) {
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i, c = row_after(c, c_stride)) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) store<T, Vectors, Masked>(hn::Mul(alphas, sums[i][v]), c, v, mask);
    }
    return;
  }
  const Vector<T> betas = hn::Set(d, beta);
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i, c = row_after(c, c_stride)) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      const Vector<T> old = hn::Mul(betas, load<T, Vectors, Masked>(c, v, mask));
      store<T, Vectors, Masked>(hn::MulAdd(alphas, sums[i][v], old), c, v, mask);
    }
  }
}

/// The element at `base` + `index` * Scale + Offset, all in bytes, in every lane. The address is spelt out in assembly:
/// the compiler would add index and offset ahead and keep more such sums than there are registers. AddressSanitizer
/// sees a plain read.
template <int Offset, int Scale>
HWY_INLINE void broadcast(std::intptr_t base, std::int64_t index, Vector<float>& value) {
#ifdef __SANITIZE_ADDRESS__
  value = hn::Set(Lanes<float>(), *reinterpret_cast<const float*>(base + index * Scale + Offset));
#else
  asm("vbroadcastss %c3(%1,%2,%c4), %0"
      : "=v"(value.raw)
      : "r"(base), "r"(index), "i"(Offset), "i"(Scale), "m"(*reinterpret_cast<const float(*)[1 << 20]>(base)));
#endif
}
template <int Offset, int Scale>
HWY_INLINE void broadcast(std::intptr_t base, std::int64_t index, Vector<double>& value) {
#ifdef __SANITIZE_ADDRESS__
  value = hn::Set(Lanes<double>(), *reinterpret_cast<const double*>(base + index * Scale + Offset));
#else
  asm("vbroadcastsd %c3(%1,%2,%c4), %0"
      : "=v"(value.raw)
      : "r"(base), "r"(index), "i"(Offset), "i"(Scale), "m"(*reinterpret_cast<const double(*)[1 << 20]>(base)));
#endif
}

/// A tile of one vector reads an element of A for every multiply-add, and a row of B: more than two reads a cycle,
/// which is what processors do. So some of its rows are read four (two) terms at a time and spread within registers.
template <class T>
inline constexpr int block_terms = 16 / static_cast<int>(sizeof(T));
template <class T, AOrder Order, int Rows, int Vectors>
inline constexpr int block_rows = Order == AOrder::rows&& Vectors == 1 && sizeof(Vector<T>) == 64
                                      ? (Rows < 16 ? Rows / 4 : 4)
                                      : 0;

/// Where the rows of A lie; element<Row, Term, Whole>() is one of their elements in every lane. Whole: four terms at a
/// time are asked for, in order.
template <class T, AOrder Order, int Rows, int Blocks>
class RowsOfA;

/// Terms are neighbours. Eight rows are reached from the place of the row before them, as an address holds a register
/// times 1, 2, 4 or 8.
template <class T, int Rows, int Blocks>
class RowsOfA<T, AOrder::rows, Rows, Blocks> {
 public:
  HWY_INLINE RowsOfA(const T* first, std::int64_t stride) {
    for (int i = 0; i < 4; ++i) odd_strides_[i] = (2 * i + 1) * stride * size;
#pragma GCC unroll 8
    for (int i = 0; i < bases; ++i) bases_[i] = reinterpret_cast<std::intptr_t>(first) + (8 * i - 1) * stride * size;
  }
  template <int Row, int Term, bool Whole>
  [[nodiscard]] HWY_INLINE Vector<T> element() {
    if constexpr (Whole && Row < Blocks) {
      if constexpr (Term % block_terms<T> == 0)
        blocks_[Row] = hn::LoadDup128(
            Lanes<T>(), reinterpret_cast<const T*>(bases_[Row / 8] + power<Row> * odd_stride<Row>()) + Term);
      return hn::Broadcast<Term % block_terms<T>>(blocks_[Row]);
    } else {
      Vector<T> value;
      broadcast<Term * size, power<Row>>(bases_[Row / 8], odd_stride<Row>(), value);
      return value;
    }
  }
  HWY_INLINE void next_term() const {}
  HWY_INLINE void advance(int terms) {
#pragma GCC unroll 8
    for (std::intptr_t& base : bases_) {
      base += terms * size;
      asm("" : "+r"(base));
    }
  }

 private:
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int bases = (Rows + 7) / 8;
  /// Rows from the base, 1 to 8, as an odd number times a power of two.
  template <int Row>
  static constexpr int power = (Row % 8 + 1) & -(Row % 8 + 1);
  template <int Row>
  [[nodiscard]] HWY_INLINE std::int64_t odd_stride() const {
    return odd_strides_[(Row % 8 + 1) / power<Row> / 2];
  }

  std::intptr_t bases_[bases];
  std::int64_t odd_strides_[4];   ///< 1, 3, 5, 7 times the way from row to row
  Vector<T> blocks_[Blocks + 1];  ///< elements of block_terms terms, repeated
};

/// Rows are neighbours.
template <class T, int Rows, int Blocks>
class RowsOfA<T, AOrder::columns, Rows, Blocks> {
 public:
  HWY_INLINE RowsOfA(const T* first, std::int64_t stride) : term_(first), stride_(stride) {}
  template <int Row, int, bool>
  [[nodiscard]] HWY_INLINE Vector<T> element() const {
    return hn::Set(Lanes<T>(), term_[Row]);
  }
  HWY_INLINE void next_term() { term_ += stride_; }
  HWY_INLINE void advance(int) const {}

 private:
  const T* term_;
  std::int64_t stride_;
};

/// What a kernel does beside its multiply-adds. `row_of_b` sees each row of B as it is loaded, `step` comes before each
/// `terms` terms.
template <class T>
struct NothingAside {
  static constexpr int terms = 4;
  template <int Vectors>
  HWY_INLINE void row_of_b(const T*, const Vector<T> (&)[Vectors]) const {}
  HWY_INLINE void step(std::int64_t) const {}
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
  const Ahead<T>& ahead;

  HWY_INLINE void step(std::int64_t done) const {
    const T* line = ahead.a + done;
    for (int i = ahead.a_rows; i > 0; --i, line += ahead.a_stride) __builtin_prefetch(line);
    const std::int64_t row = done / terms;
    if (row >= ahead.line_rows) return;
    const T* lines = ahead.lines + row * ahead.line_stride;
    constexpr int width = Vectors * lane_count<T>;
#pragma GCC unroll 4
    for (int j = 0; j < width; j += terms) __builtin_prefetch(lines + j, 1);
    __builtin_prefetch(lines + width - 1, 1);  // rows that start within a line end in one more
  }
};

template <class T, AOrder Order, int Rows, int Vectors, bool Masked, class Aside>
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
      for (int v = 0; v < Vectors; ++v) multiply_add_into(row_sums[v], element, b_row[v]);
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
      aside.step(shape.k - k);
#pragma GCC unroll 1
      for (int p = 0; p < Aside::terms; p += 4) four_terms();
    }
  }
  for (; k > 0; --k) {
    term.template operator()<0, false>(rows);
    a.advance(1);
  }
  update<T, Rows, Vectors, Masked>(sums, c, shape.c_stride, alpha, beta, mask);
}

template <class T, AOrder Order, int Rows, int Vectors, bool Masked>
void tile_kernel(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta) {
  multiply_tile<T, Order, Rows, Vectors, Masked>(shape, a, b, c, alpha, beta, NothingAside<T>());
}

template <class T, AOrder Order, int Rows, int Vectors>
void packing_kernel(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta, T* packed_b) {
  multiply_tile<T, Order, Rows, Vectors, false>(shape, a, b, c, alpha, beta, PackingAside<T>{{}, packed_b});
}

template <class T, AOrder Order, int Rows, int Vectors>
void asking_kernel(const TileShape& shape, const T* a, const T* b, T* c, T alpha, T beta, const Ahead<T>& ahead) {
  multiply_tile<T, Order, Rows, Vectors, false>(shape, a, b, c, alpha, beta, AskingAside<T, Vectors>{{}, ahead});
}

/// All heights of one width, as a table indexed by rows - 1.
template <class T, AOrder Order, int Vectors, bool Masked, int... Height>
constexpr auto heights(std::integer_sequence<int, Height...>) {
  return std::array{&tile_kernel<T, Order, Height + 1, Vectors, Masked>...};
}

template <class T, AOrder Order, int Vectors, int... Height>
constexpr auto packing_heights(std::integer_sequence<int, Height...>) {
  return std::array{&packing_kernel<T, Order, Height + 1, Vectors>...};
}

template <class T, AOrder Order, int Vectors, int... Height>
constexpr auto asking_heights(std::integer_sequence<int, Height...>) {
  return std::array{&asking_kernel<T, Order, Height + 1, Vectors>...};
}

template <class T, int Vectors, int MaxRows>
auto find_asking_tile(AOrder order, int rows) {
  using Heights = std::make_integer_sequence<int, MaxRows>;
  static constexpr std::array table{asking_heights<T, AOrder::rows, Vectors>(Heights()),
                                    asking_heights<T, AOrder::columns, Vectors>(Heights())};
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
