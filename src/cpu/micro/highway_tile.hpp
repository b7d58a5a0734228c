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

/// Keeps a broadcast in its register: the compiler would else fold it into each multiply-add and load it anew.
template <class V>
HWY_INLINE void pin(V& v) {
  asm("" : "+v"(v.raw));
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

/// C <- alpha * sums + beta * C for the whole tile; the two frequent cases skip what they do not need.
template <class T, int Rows, int Vectors, bool Masked>
HWY_INLINE void update(Vector<T> (&sums)[Rows][Vectors], const Tile<T>& t, hn::Mask<Lanes<T>> mask) {
  const Lanes<T> d;
  T* c = t.c;
  if (t.beta == T(0) && t.alpha == T(1)) {
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i, c += t.c_stride) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) store<T, Vectors, Masked>(sums[i][v], c, v, mask);
    }
    return;
  }
  const Vector<T> alpha = hn::Set(d, t.alpha);
  if (t.beta == T(0)) {
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i, c += t.c_stride) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) store<T, Vectors, Masked>(hn::Mul(alpha, sums[i][v]), c, v, mask);
    }
    return;
  }
  const Vector<T> beta = hn::Set(d, t.beta);
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i, c += t.c_stride) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      const Vector<T> old = hn::Mul(beta, load<T, Vectors, Masked>(c, v, mask));
      store<T, Vectors, Masked>(hn::MulAdd(alpha, sums[i][v], old), c, v, mask);
    }
  }
}

/// Tiles between what a packing kernel copies and what it asks for.
inline constexpr int packing_ahead = 2;

template <class T, AOrder Order, int Rows, int Vectors, bool Masked, bool Packing = false>
void tile_kernel(const Tile<T>& t) {
  const Lanes<T> d;
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(t.last_lanes));
  Vector<T> sums[Rows][Vectors];
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) sums[i][v] = hn::Zero(d);
  }

  // Rows of A are reached three from one pointer (base, base + stride, base + 2 * stride): what an address can hold.
  constexpr int rows_per_pointer = Order == AOrder::rows ? 3 : Rows;
  constexpr int pointers = (Rows + rows_per_pointer - 1) / rows_per_pointer;
  const T* a[pointers];
#pragma GCC unroll 32
  for (int g = 0; g < pointers; ++g) {
    a[g] = t.a + g * rows_per_pointer * t.a_stride;
    if (Order == AOrder::rows) asm("" : "+r"(a[g]));
  }
  const T* b = t.b;
  T* packed_b = t.packed_b;
  const std::int64_t a_stride = t.a_stride;
  const std::int64_t b_stride = t.b_stride;

  const auto term = [&](int p) __attribute__((always_inline)) {
    Vector<T> b_row[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) b_row[v] = load<T, Vectors, Masked>(b, v, mask);
    if (Packing) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        // The columns that follow are packed soon; their rows lie pages apart, where no hardware prefetcher looks.
        __builtin_prefetch(b + (packing_ahead * Vectors + v) * lane_count<T>);
        hn::StoreU(b_row[v], d, packed_b + v * lane_count<T>);
      }
      packed_b += Vectors * lane_count<T>;
    }
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i) {
      Vector<T> a_element =
          hn::Set(d, Order == AOrder::rows ? a[i / rows_per_pointer][(i % rows_per_pointer) * a_stride + p] : a[0][i]);
      if (Vectors > 1) pin(a_element);
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) multiply_add_into(sums[i][v], a_element, b_row[v]);
    }
    b += b_stride;
    if (Order == AOrder::columns) a[0] += a_stride;
  };
  const auto advance_rows = [&](int terms) __attribute__((always_inline)) {
    if (Order == AOrder::columns) return;
#pragma GCC unroll 32
    for (int g = 0; g < pointers; ++g) a[g] += terms;
  };

  std::int64_t k = t.k;
  for (; k >= 4; k -= 4) {
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) term(p);
    advance_rows(4);
  }
  for (; k > 0; --k) {
    term(0);
    advance_rows(1);
  }
  update<T, Rows, Vectors, Masked>(sums, t, mask);
}

/// All heights of one width, as a table indexed by rows - 1.
template <class T, AOrder Order, int Vectors, bool Masked, int... Height>
constexpr auto heights(std::integer_sequence<int, Height...>) {
  return std::array{&tile_kernel<T, Order, Height + 1, Vectors, Masked>...};
}

template <class T, AOrder Order, int Vectors, int... Height>
constexpr auto packing_heights(std::integer_sequence<int, Height...>) {
  return std::array{&tile_kernel<T, Order, Height + 1, Vectors, false, true>...};
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
