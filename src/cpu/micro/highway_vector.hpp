// SPDX-License-Identifier: Apache-2.0
/// \file Vectors of one instruction set, and the update of a tile of C that lies in them.
#pragma once

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "cpu/micro/highway_first_lanes.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

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

#if HWY_ARCH_X86
/// sum += a * b in the form that overwrites the sum. Left the choice, GCC overwrites a factor in an unrolled loop, and
/// then spends copies and spills on moving the sums back to where they were.
HWY_INLINE void multiply_add_into(Vector<float>& sum, Vector<float> a, Vector<float> b) {
  asm("vfmadd231ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
}
HWY_INLINE void multiply_add_into(Vector<double>& sum, Vector<double> a, Vector<double> b) {
  asm("vfmadd231pd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
}
#else
/// sum += a * b. There is no form that overwrites a factor.
template <class V>
HWY_INLINE void multiply_add_into(V& sum, V a, V b) {
  sum = hn::MulAdd(a, b, sum);
}
#endif

template <class T, int Vectors, bool Masked, bool Asks = Vectors == 1>
HWY_INLINE Vector<T> load(const T* from, int v, FirstLanes<Lanes<T>> mask) {
  if (Masked && v == Vectors - 1) return load_first<Asks>(mask, Lanes<T>(), from + v * lane_count<T>);
  return hn::LoadU(Lanes<T>(), from + v * lane_count<T>);
}

template <class T, int Vectors, bool Masked>
HWY_INLINE void store(Vector<T> value, T* to, int v, FirstLanes<Lanes<T>> mask) {
  if (Masked && v == Vectors - 1)
    store_first(value, mask, Lanes<T>(), to + v * lane_count<T>);
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

/// Counts as a use of the value.
template <class V>
HWY_INLINE void keep(V value) {
#if HWY_ARCH_X86
  asm volatile("" : : "v"(value.raw));
#else
  asm volatile("" : : "w"(value.raw));
#endif
}

/// Integers wrap.
template <class V>
HWY_INLINE V multiply_add(V a, V b, V c) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>())
    return hn::MulAdd(a, b, c);
  else
    return hn::Add(hn::Mul(a, b), c);
}

/// C <- alpha * sums + beta * C for the whole tile; the two frequent cases skip what they do not need.
template <class T, int Rows, int Vectors, bool Masked>
HWY_INLINE void update(Vector<T> (&sums)[Rows][Vectors], T* c, std::int64_t c_stride, T alpha, T beta,
                       FirstLanes<Lanes<T>> mask) {
  const Lanes<T> d;
  const Vector<T> alphas = hn::Set(d, alpha);
  if (beta == T(0)) {
    if (alpha != T(1)) {
#pragma GCC unroll 32
      for (auto& row : sums) {
#pragma GCC unroll 4
        for (auto& sum : row) sum = hn::Mul(alphas, sum);
      }
    }
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i, c = row_after(c, c_stride)) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) store<T, Vectors, Masked>(sums[i][v], c, v, mask);
    }
    return;
  }
  const Vector<T> betas = hn::Set(d, beta);
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i, c = row_after(c, c_stride)) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      const Vector<T> old = hn::Mul(betas, load<T, Vectors, Masked>(c, v, mask));
      store<T, Vectors, Masked>(multiply_add(alphas, sums[i][v], old), c, v, mask);
    }
  }
}

}  // namespace exactile::cpu::HWY_NAMESPACE
