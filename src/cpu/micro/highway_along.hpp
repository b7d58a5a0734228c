// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums along lines: lane l of a sum takes the terms l, l + L, l + 2L, ..., each with one multiply-add; then lanes are
/// added in pairs, l and l + L/2, l and l + L/4, and so on. L is lanes_of_sum, whatever the instruction set, so that
/// the bits are too. A complex sum is two: of w times the real part of x and of w times its imaginary part.
#pragma once

#include <complex>

#include "cpu/micro/highway_lanes.hpp"
#include "cpu/micro/vector_kernels.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// Four registers of AVX-512; a complex sum is two of two.
template <class In>
inline constexpr int lanes_of_sum = (core::is_complex_v<In> ? 128 : 256) / static_cast<int>(sizeof(LaneOf<In>));

template <class In>
inline constexpr int registers_of_sum = lanes_of_sum<In> / lane_count<LaneOf<In>>;

/// From what is read to what is asked for, in bytes of each line: into L1, or, of a line by itself, further ahead into
/// L2, and with it as much of the vector, which may be as long.
template <int lines>
inline constexpr std::int64_t ahead_along = lines == 1 ? 2048 : 256;
template <int lines>
inline constexpr int nearness = lines == 1 ? 2 : 3;

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

/// The sums of one vector of w with one of x, in the registers of a sum.
template <class In>
struct LaneSums {
  using Lane = LaneOf<In>;
  static constexpr int registers = registers_of_sum<In>;
  Vector<Lane> sums[registers];

  HWY_INLINE void clear() {
    unrolled<registers>([&](auto r) __attribute__((always_inline)) { sums[r] = hn::Zero(Lanes<Lane>()); });
  }
  template <int r>
  HWY_INLINE void add(Vector<Lane> w, const Lane* x) {
    add_product<Lane>(sums[r], w, hn::LoadU(Lanes<Lane>(), x));
  }
  [[nodiscard]] HWY_INLINE Accumulator<In> total() { return fold(Lanes<Lane>(), add_registers(sums)); }
};

/// A vector of w holds both parts of lane_count / 2 terms; x holds the real parts of these twice, then the imaginary
/// ones.
template <class T>
struct LaneSums<std::complex<T>> {
  static constexpr int registers = registers_of_sum<std::complex<T>>;
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
    return load_some_lanes<LaneOf<In>>(reinterpret_cast<const LaneOf<In>*>(w), 2 * terms);
  else
    return load_some_lanes<LaneOf<In>>(w, terms);
}

/// Where the lines of a group lie, and how far from one of them to what follows its end: a line of the next group, or
/// more of the same.
template <class In>
struct LinesAt {
  const In* w;
  std::int64_t stride;
  std::int64_t terms;
  std::int64_t next;
};

/// A step of terms of the vector, from as far ahead as a line by itself.
template <class In>
HWY_INLINE void ask_for_vector(const LaneOf<In>* held) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(LaneOf<In>));
  constexpr std::int64_t step = registers_of_sum<In> * terms_of_vector<In> * held_lanes<In>;
  unrolled<step * size / 64>([&](auto q) __attribute__((always_inline)) {
    __builtin_prefetch(held + (ahead_along<1> + q * 64) / size, 0, nearness<1>);
  });
}

/// A group of `LinesAtOnce` lines with `Vectors` vectors.
template <class In, int LinesAtOnce, int Vectors>
HWY_INLINE void sum_group(const LinesAt<In>& at, const HeldVectors<In>& x, LaneSums<In> (&sums)[LinesAtOnce][Vectors]) {
  constexpr int vector_terms = terms_of_vector<In>;
  constexpr int registers = registers_of_sum<In>;
  constexpr std::int64_t step = registers * vector_terms;
  constexpr std::int64_t ahead = ahead_along<LinesAtOnce> / static_cast<std::int64_t>(sizeof(In));
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(In));
  unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
    unrolled<Vectors>([&](auto i) __attribute__((always_inline)) { sums[j][i].clear(); });
  });
  const auto add = [&](std::int64_t p, auto r, const LaneOf<In>* held, std::int64_t held_stride, auto&& load)
      __attribute__((always_inline)) {
    unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
      const Vector<LaneOf<In>> w = load(at.w + j * at.stride + p);
      unrolled<Vectors>([&](auto i)
                            __attribute__((always_inline)) { sums[j][i].template add<r>(w, held + i * held_stride); });
    });
  };
  std::int64_t p = 0;
  // What is asked for behind a line's end lies in the next group.
  const auto add_up_to = [&](std::int64_t end, std::int64_t distance) __attribute__((always_inline)) {
    for (; p + step <= end; p += step) {
      unrolled<registers>([&](auto r) __attribute__((always_inline)) {
        const std::int64_t term = p + r * vector_terms;
        add(term, r, x.held + term * held_lanes<In>, x.held_stride, load_terms<In>);
      });
      if constexpr (LinesAtOnce == 1 && Vectors == 1) ask_for_vector<In>(x.held + p * held_lanes<In>);
      unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
        unrolled<step / line>([&](auto q) __attribute__((always_inline)) {
          __builtin_prefetch(at.w + j * at.stride + p + q * line + distance, 0, nearness<LinesAtOnce>);
        });
      });
    }
  };
  add_up_to(at.terms - ahead, ahead);
  add_up_to(at.terms, at.next + ahead - at.terms);
  unrolled<registers>([&](auto r) __attribute__((always_inline)) {
    const std::int64_t left = at.terms - p;
    const LaneOf<In>* end = x.end + (p - at.terms / held_padding * held_padding) * held_lanes<In>;
    if (left >= vector_terms)
      add(p, r, end, x.end_stride, load_terms<In>);
    else if (left > 0)
      add(
          p, r, end,
          x.end_stride, [left](const In* w) __attribute__((always_inline)) { return load_some_terms<In>(w, left); });
    p += vector_terms;
  });
}

template <class In, int LinesAtOnce, int Vectors>
HWY_INLINE void sum_lines(const LinesAt<In>& at, const HeldVectors<In>& x, Accumulator<In>* sums,
                          std::int64_t sums_stride) {
  LaneSums<In> lanes[LinesAtOnce][Vectors];
  sum_group<In, LinesAtOnce, Vectors>(at, x, lanes);
  unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
    unrolled<Vectors>([&](auto i) __attribute__((always_inline)) { sums[j * sums_stride + i] = lanes[j][i].total(); });
  });
}

/// Lines that one group of so many vectors can have: their sums stay in registers.
template <int Vectors>
inline constexpr int lines_at_once = lane_count<float> == 16 ? (Vectors == 1   ? 4
                                                                : Vectors == 2 ? 2
                                                                               : 1)
                                                             : 1;
inline constexpr int vectors_at_once = lane_count<float> == 16 ? 4 : 1;

template <class In, int Vectors>
void sum_lines_with(const LinesAt<In>& at, const HeldVectors<In>& x, Accumulator<In>* sums, std::int64_t sums_stride,
                    std::int64_t lines) {
  constexpr int group = lines_at_once<Vectors>;
  if (lines == group)
    sum_lines<In, group, Vectors>(at, x, sums, sums_stride);
  else
    for (std::int64_t j = 0; j < lines; ++j)
      sum_lines<In, 1, Vectors>({at.w + j * at.stride, at.stride, at.terms, at.next}, x, sums + j * sums_stride,
                                sums_stride);
}

template <class In>
void sums_along(const In* w, std::int64_t w_stride, std::int64_t lines, std::int64_t terms, const HeldVectors<In>& x,
                int vectors, Accumulator<In>* sums) {
  const int at_once = std::min(vectors, vectors_at_once);
  // Short lines, one behind the other, are one stream.
  const bool is_short = terms * static_cast<std::int64_t>(sizeof(In)) <= ahead_along<1>;
  const std::int64_t group = is_short ? 1 : at_once == 1 ? lines_at_once<1> : at_once == 2 ? lines_at_once<2> : 1;
  for (std::int64_t j = 0; j < lines; j += group) {
    const std::int64_t here = std::min(group, lines - j);
    const LinesAt<In> at{w + j * w_stride, w_stride, terms, j + group < lines ? group * w_stride : terms};
    for (int i = 0; i < vectors; i += vectors_at_once) {
      const HeldVectors<In> from = x.from(i);
      Accumulator<In>* to = sums + j * vectors + i;
      switch (std::min(vectors - i, vectors_at_once)) {
        case 1: sum_lines_with<In, 1>(at, from, to, vectors, here); break;
        case 2: sum_lines_with<In, 2>(at, from, to, vectors, here); break;
        case 3: sum_lines_with<In, 3>(at, from, to, vectors, here); break;
        default: sum_lines_with<In, 4>(at, from, to, vectors, here); break;
      }
    }
  }
}

template <class In>
void hold_vector(const In* x, std::int64_t stride, std::int64_t terms, LaneOf<In>* held) {
  using Lane = LaneOf<In>;
  constexpr int vector_terms = terms_of_vector<In>;
  const std::int64_t padded = (terms + held_padding - 1) / held_padding * held_padding;
  for (std::int64_t p = 0; p < padded; p += vector_terms, held += vector_terms * held_lanes<In>) {
    const std::int64_t here = std::clamp<std::int64_t>(terms - p, 0, vector_terms);
    In some[vector_terms] = {};
    for (std::int64_t q = 0; q < here; ++q) some[q] = x[(p + q) * stride];
    if constexpr (core::is_complex_v<In>) {
      for (int q = 0; q < vector_terms; ++q) {
        held[2 * q] = held[2 * q + 1] = some[q].real();
        held[lane_count<Lane> + 2 * q] = held[lane_count<Lane> + 2 * q + 1] = some[q].imag();
      }
    } else {
      hn::StoreU(load_lanes(some), Lanes<Lane>(), held);
    }
  }
}

}  // namespace exactile::cpu::HWY_NAMESPACE
