// SPDX-License-Identifier: Apache-2.0
/// \file How a tile reads its rows of A: addresses that fit into the registers there are.
#pragma once

#include "cpu/micro/highway_vector.hpp"
#include "cpu/micro/tile.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// The element at `base` + `index` * Scale + Offset, all in bytes, in every lane.
#if defined(__SANITIZE_ADDRESS__) || !HWY_ARCH_X86
template <int Offset, int Scale, class V, class T = hn::TFromV<V>>
HWY_INLINE void broadcast(std::intptr_t base, std::int64_t index, V& value) {
  value = hn::Set(Lanes<T>(), *reinterpret_cast<const T*>(base + index * Scale + Offset));
}
#else
/// The address is spelt out in assembly: the compiler would add index and offset ahead and keep more such sums than
/// there are registers. AddressSanitizer would not see what this reads.
template <int Offset, int Scale>
HWY_INLINE void broadcast(std::intptr_t base, std::int64_t index, Vector<float>& value) {
  asm("vbroadcastss %c3(%1,%2,%c4), %0"
      : "=v"(value.raw)
      : "r"(base), "r"(index), "i"(Offset), "i"(Scale), "m"(*reinterpret_cast<const float(*)[1 << 20]>(base)));
}
template <int Offset, int Scale>
HWY_INLINE void broadcast(std::intptr_t base, std::int64_t index, Vector<std::int32_t>& value) {
  asm("vpbroadcastd %c3(%1,%2,%c4), %0"
      : "=v"(value.raw)
      : "r"(base), "r"(index), "i"(Offset), "i"(Scale), "m"(*reinterpret_cast<const std::int32_t(*)[1 << 20]>(base)));
}
template <int Offset, int Scale>
HWY_INLINE void broadcast(std::intptr_t base, std::int64_t index, Vector<double>& value) {
  asm("vbroadcastsd %c3(%1,%2,%c4), %0"
      : "=v"(value.raw)
      : "r"(base), "r"(index), "i"(Offset), "i"(Scale), "m"(*reinterpret_cast<const double(*)[1 << 20]>(base)));
}

template <int Offset, int Scale>
HWY_INLINE void broadcast(std::intptr_t base, std::int64_t index, Vector<std::int64_t>& value) {
  asm("vpbroadcastq %c3(%1,%2,%c4), %0"
      : "=v"(value.raw)
      : "r"(base), "r"(index), "i"(Offset), "i"(Scale), "m"(*reinterpret_cast<const std::int64_t(*)[1 << 20]>(base)));
}
#endif

/// A tile of one vector reads an element of A for every multiply-add, and a row of B: more than two reads a cycle,
/// which is what processors do. So some of its rows are read four (two) terms at a time and spread within registers.
template <class T>
inline constexpr int block_terms = 16 / static_cast<int>(sizeof(T));
template <class T, AOrder Order, int Rows, int Vectors>
inline constexpr int block_rows = Order == AOrder::rows&& Vectors == 1 && sizeof(Vector<T>) == 64
                                      ? (Rows < 16 ? Rows / 4 : 4)
                                      : 0;

/// Where the rows of A lie; element<Row, Term, Whole>() is one of their elements in every lane. Whole: four terms at a
/// time are asked for, in order. Each element has `Parts` numbers, one behind the other, which count as rows; strides
/// and terms count elements in row order, numbers in column order.
template <class T, AOrder Order, int Rows, int Blocks, int Parts = 1>
class RowsOfA;

/// Terms are neighbours. Eight rows are reached from the place of the row before them, as an address holds a register
/// times 1, 2, 4 or 8.
template <class T, int Rows, int Blocks, int Parts>
class RowsOfA<T, AOrder::rows, Rows, Blocks, Parts> {
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
      constexpr int line = Row / Parts;
      broadcast<Term * size + Row % Parts * number, power<line>>(bases_[line / 8], odd_stride<line>(), value);
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
  static constexpr int number = static_cast<int>(sizeof(T));
  static constexpr int size = Parts * number;
  static constexpr int bases = (Rows / Parts + 7) / 8;
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
template <class T, int Rows, int Blocks, int Parts>
class RowsOfA<T, AOrder::columns, Rows, Blocks, Parts> {
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

}  // namespace exactile::cpu::HWY_NAMESPACE
