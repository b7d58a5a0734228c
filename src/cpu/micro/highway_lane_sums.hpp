// SPDX-License-Identifier: Apache-2.0
/// \file
/// A sum in lanes: K is cut into parts, each with as many lanes; lane l of a part takes its terms l, l + L, l + 2L,
/// ..., each with one multiply-add. Then lanes are added in pairs, l of a part and of the part two further on, l of
/// both that are left, l and l + L/2, l and l + L/4, and so on. Parts and lanes are the same for every instruction set,
/// and so are the bits. The lanes of a part are two registers of AVX2: so many leave room for the sums of several
/// lines, and the parts of a single line may be as many streams, where a processor reads several faster than one. A
/// complex sum is two: of w times the real part of x and of w times its imaginary part.
#pragma once

#include <complex>

#include "cpu/micro/highway_lanes.hpp"
#include "cpu/micro/vector_kernels.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

template <class In>
inline constexpr int parts_of_sum = core::is_complex_v<In> ? 2 : 4;

/// Of all parts: registers of AVX-512, one a part.
template <class In>
inline constexpr int lanes_of_sum = parts_of_sum<In> * 64 / static_cast<int>(sizeof(LaneOf<In>));

template <class In>
inline constexpr int registers_of_sum = lanes_of_sum<In> / lane_count<LaneOf<In>>;
template <class In>
inline constexpr int registers_of_part = registers_of_sum<In> / parts_of_sum<In>;

/// Of a block of so many terms, the last part's, which may be fewer or none, apart: half a page at least, as
/// prefetchers follow no shorter stretch. Parts begin where a held vector's last terms may.
template <class In>
[[nodiscard]] HWY_INLINE std::int64_t terms_of_part(std::int64_t terms) {
  constexpr std::int64_t least = 512;
  constexpr std::int64_t unit = parts_of_sum<In> * held_padding;
  const std::int64_t equal = (terms + unit - 1) / unit * held_padding;
  return equal < least ? least : equal;
}

template <class D>
HWY_INLINE hn::TFromD<D> fold(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<D> half;
    return fold(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

template <class V, int Registers>
HWY_INLINE V add_registers(V (&sums)[Registers]) {
  constexpr int half = Registers / 2;
  if constexpr (half == 0) {
    return sums[0];
  } else {
    V halves[half];
    unrolled<half>([&](auto r) __attribute__((always_inline)) { halves[r] = hn::Add(sums[r], sums[r + half]); });
    return add_registers(halves);
  }
}

/// The sums of one vector of w with one of x, in the registers of a sum or of a part.
template <class In, int registers = registers_of_sum<In>>
struct LaneSums {
  using Lane = LaneOf<In>;
  Vector<Lane> sums[registers];

  HWY_INLINE void clear() {
    unrolled<registers>([&](auto r) __attribute__((always_inline)) { sums[r] = hn::Zero(Lanes<Lane>()); });
  }
  template <int r>
  HWY_INLINE void add(Vector<Lane> w, const Lane* x) {
    add_product<In>(sums[r], w, hn::LoadU(Lanes<Lane>(), x));
  }
  /// The sums of part number q.
  template <int count>
  HWY_INLINE void take(int q, const LaneSums<In, count>& part) {
    unrolled<count>([&](auto r) __attribute__((always_inline)) { sums[q * count + r] = part.sums[r]; });
  }
  /// As where parts without terms follow, whose sums are zero: it is what makes a sum of -0 zero.
  HWY_INLINE void add_empty_parts() {
    unrolled<registers>([&](auto r)
                            __attribute__((always_inline)) { sums[r] = hn::Add(sums[r], hn::Zero(Lanes<Lane>())); });
  }
  [[nodiscard]] HWY_INLINE Accumulator<In> total() { return fold(Lanes<Lane>(), add_registers(sums)); }
};

/// A vector of w holds both parts of lane_count / 2 terms; x holds the real parts of these twice, then the imaginary
/// ones.
template <class T, int registers>
struct LaneSums<std::complex<T>, registers> {
  Vector<T> by_real[registers];
  Vector<T> by_imaginary[registers];

  HWY_INLINE void clear() {
    unrolled<registers>([&](auto r)
                            __attribute__((always_inline)) { by_real[r] = by_imaginary[r] = hn::Zero(Lanes<T>()); });
  }
  template <int r>
  HWY_INLINE void add(Vector<T> w, const T* x) {
    add_product<T>(by_real[r], w, hn::LoadU(Lanes<T>(), x));
    add_product<T>(by_imaginary[r], w, hn::LoadU(Lanes<T>(), x + lane_count<T>));
  }
  template <int count>
  HWY_INLINE void take(int q, const LaneSums<std::complex<T>, count>& part) {
    unrolled<count>([&](auto r) __attribute__((always_inline)) {
      by_real[q * count + r] = part.by_real[r];
      by_imaginary[q * count + r] = part.by_imaginary[r];
    });
  }
  HWY_INLINE void add_empty_parts() {
    const auto zero = hn::Zero(Lanes<T>());
    unrolled<registers>([&](auto r) __attribute__((always_inline)) {
      by_real[r] = hn::Add(by_real[r], zero);
      by_imaginary[r] = hn::Add(by_imaginary[r], zero);
    });
  }
  [[nodiscard]] HWY_INLINE std::complex<T> total() {
    const hn::Full128<T> pairs;
    const auto real = fold_to_pairs(Lanes<T>(), add_registers(by_real));
    const auto imaginary = fold_to_pairs(Lanes<T>(), add_registers(by_imaginary));
    T r[2];
    T i[2];
    store_pair(pairs, real, r);
    store_pair(pairs, imaginary, i);
    return {r[0] - i[1], r[1] + i[0]};
  }

 private:
  template <class D>
  static HWY_INLINE auto fold_to_pairs(D d, hn::Vec<D> v) {
    if constexpr (hn::MaxLanes(d) * sizeof(T) == 16) {
      return v;
    } else {
      const hn::Half<D> half;
      return fold_to_pairs(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
  }
  template <class D>
  static HWY_INLINE void store_pair(D d, hn::Vec<D> v, T (&pair)[2]) {
    T all[hn::MaxLanes(d)];
    hn::StoreU(v, d, all);
    if constexpr (sizeof(T) == 4) {
      pair[0] = all[0] + all[2];
      pair[1] = all[1] + all[3];
    } else {
      pair[0] = all[0];
      pair[1] = all[1];
    }
  }
};

/// Terms of a vector.
template <class In>
inline constexpr int terms_of_vector = lane_count<LaneOf<In>> / (core::is_complex_v<In> ? 2 : 1);

template <class In>
HWY_INLINE Vector<LaneOf<In>> load_terms(const In* w) {
  if constexpr (core::is_complex_v<In>)
    return load_lanes(reinterpret_cast<const LaneOf<In>*>(w));
  else
    return load_lanes(w);
}
template <class In>
HWY_INLINE Vector<LaneOf<In>> load_some_terms(const In* w, std::int64_t terms) {
  if constexpr (core::is_complex_v<In>)
    return load_some_lanes(reinterpret_cast<const LaneOf<In>*>(w), 2 * terms);
  else
    return load_some_lanes(w, terms);
}

}  // namespace exactile::cpu::HWY_NAMESPACE
