// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums along lines, each in the lanes of highway_lane_sums.hpp.
#pragma once

#include "cpu/micro/highway_lane_sums.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// From what is read to what is asked for, in bytes of each line: into L1, or, of a line by itself, further ahead into
/// L2, and with it as much of the vector, which may be as long.
template <int lines>
inline constexpr std::int64_t ahead_along = lines == 1 ? 2048 : 256;
template <int lines>
inline constexpr int nearness = lines == 1 ? 2 : 3;

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

/// Register r of each sum takes a vector of terms from p on.
template <class In, int LinesAtOnce, int Vectors, class Register, class Load>
HWY_INLINE void add_terms(const LinesAt<In>& at, std::int64_t p, Register r, const LaneOf<In>* held,
                          std::int64_t held_stride, LaneSums<In> (&sums)[LinesAtOnce][Vectors], const Load& load) {
  unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
    const Vector<LaneOf<In>> w = load(at.w + j * at.stride + p);
    unrolled<Vectors>([&](auto i)
                          __attribute__((always_inline)) { sums[j][i].template add<r>(w, held + i * held_stride); });
  });
}

/// The last terms, fewer than all lanes of a sum.
template <class In, int LinesAtOnce, int Vectors>
HWY_INLINE void add_rest(const LinesAt<In>& at, std::int64_t p, const HeldVectors<In>& x,
                         LaneSums<In> (&sums)[LinesAtOnce][Vectors]) {
  constexpr int vector_terms = terms_of_vector<In>;
  unrolled<registers_of_sum<In>>([&](auto r) __attribute__((always_inline)) {
    const std::int64_t left = at.terms - p;
    const LaneOf<In>* end = x.end + (p - at.terms / held_padding * held_padding) * held_lanes<In>;
    if (left >= vector_terms)
      add_terms(at, p, r, end, x.end_stride, sums, load_terms<In>);
    else if (left > 0)
      add_terms(
          at, p, r, end, x.end_stride,
          sums, [left](const In* w) __attribute__((always_inline)) { return load_some_terms<In>(w, left); });
    p += vector_terms;
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
  std::int64_t p = 0;
  // What is asked for behind a line's end lies in the next group.
  const auto add_up_to = [&](std::int64_t end, std::int64_t distance) __attribute__((always_inline)) {
    for (; p + step <= end; p += step) {
      unrolled<registers>([&](auto r) __attribute__((always_inline)) {
        const std::int64_t term = p + r * vector_terms;
        add_terms(at, term, r, x.held + term * held_lanes<In>, x.held_stride, sums, load_terms<In>);
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
  add_rest(at, p, x, sums);
}

/// Where the sums of a group outnumber registers: a stretch of terms is passed over once for each two registers of a
/// sum, whose lanes are every fourth line of a cache, and stays in L1 meanwhile with the vectors' terms.
template <class In, int LinesAtOnce, int Vectors>
HWY_INLINE void sum_group_by_registers(const LinesAt<In>& at, const HeldVectors<In>& x,
                                       LaneSums<In> (&sums)[LinesAtOnce][Vectors]) {
  using Lane = LaneOf<In>;
  constexpr int together = 2;
  constexpr int vector_terms = terms_of_vector<In>;
  constexpr std::int64_t step = std::int64_t{registers_of_sum<In>} * vector_terms;
  constexpr std::int64_t stretch = 4096 / static_cast<std::int64_t>(sizeof(Lane)) / step * step;
  unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
    unrolled<Vectors>([&](auto i) __attribute__((always_inline)) { sums[j][i].clear(); });
  });
  const std::int64_t whole = at.terms / step * step;
  for (std::int64_t begin = 0; begin < whole; begin += stretch) {
    const std::int64_t end = std::min(begin + stretch, whole);
    const std::int64_t distance = end < whole ? stretch : at.next - begin;
    unrolled<registers_of_sum<In> / together>([&](auto pass) __attribute__((always_inline)) {
      Vector<Lane> some[LinesAtOnce][Vectors][together];
      const auto each = [&](const auto& visit) __attribute__((always_inline)) {
        unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
          unrolled<Vectors>([&](auto i) __attribute__((always_inline)) {
            unrolled<together>([&](auto r) __attribute__((always_inline)) {
              visit(some[j][i][r], sums[j][i].sums[pass * together + r]);
            });
          });
        });
      };
      each([](Vector<Lane> & here, Vector<Lane> & there) __attribute__((always_inline)) { here = there; });
      for (std::int64_t p = begin + pass * together * vector_terms; p < end; p += step)
        unrolled<together>([&](auto r) __attribute__((always_inline)) {
          unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
            const In* const from = at.w + j * at.stride + p + r * vector_terms;
            const Vector<Lane> w = load_terms<In>(from);
            if constexpr (r == 0) __builtin_prefetch(from + distance);
            unrolled<Vectors>([&](auto i) __attribute__((always_inline)) {
              add_product<Lane>(some[j][i][r], w,
                                hn::LoadU(Lanes<Lane>(), x.held + i * x.held_stride + p + r * vector_terms));
            });
          });
        });
      each([](Vector<Lane> & here, Vector<Lane> & there) __attribute__((always_inline)) { there = here; });
    });
  }
  add_rest(at, whole, x, sums);
}

/// Registers hold the sums of four vectors at one time with AVX-512; else they hold parts of more sums, two lines of
/// three vectors.
template <class In>
inline constexpr bool holds_whole_sums = lane_count<float> == 16 || core::is_complex_v<In>;

template <class In, int LinesAtOnce, int Vectors>
HWY_INLINE void sum_lines(const LinesAt<In>& at, const HeldVectors<In>& x, Accumulator<In>* sums,
                          std::int64_t sums_stride) {
  LaneSums<In> lanes[LinesAtOnce][Vectors];
  if constexpr (Vectors == 1 || holds_whole_sums<In>)
    sum_group<In, LinesAtOnce, Vectors>(at, x, lanes);
  else
    sum_group_by_registers<In, LinesAtOnce, Vectors>(at, x, lanes);
  unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
    unrolled<Vectors>([&](auto i) __attribute__((always_inline)) { sums[j * sums_stride + i] = lanes[j][i].total(); });
  });
}

/// Lines that one group of so many vectors can have, and vectors of a group.
template <class In, int Vectors>
inline constexpr int lines_at_once = lane_count<float> == 16                ? (Vectors == 1   ? 4
                                                                               : Vectors == 2 ? 2
                                                                                              : 1)
                                     : Vectors > 1 && !holds_whole_sums<In> ? 2
                                                                            : 1;
template <class In>
inline constexpr int vectors_at_once = lane_count<float> == 16 ? 4
                                       : holds_whole_sums<In>  ? 1
                                                               : 3;

template <class In, int Vectors>
void sum_lines_with(const LinesAt<In>& at, const HeldVectors<In>& x, Accumulator<In>* sums, std::int64_t sums_stride,
                    std::int64_t lines) {
  constexpr int group = lines_at_once<In, Vectors>;
  if (lines == group)
    sum_lines<In, group, Vectors>(at, x, sums, sums_stride);
  else
    for (std::int64_t j = 0; j < lines; ++j)
      sum_lines<In, 1, Vectors>({at.w + j * at.stride, at.stride, at.terms, at.next}, x, sums + j * sums_stride,
                                sums_stride);
}

/// Lines of a group, by the vectors it has at most.
template <class In>
std::int64_t lines_of_group(int vectors) {
  switch (vectors) {
    case 1: return lines_at_once<In, 1>;
    case 2: return lines_at_once<In, 2>;
    case 3: return lines_at_once<In, 3>;
    default: return lines_at_once<In, 4>;
  }
}

template <class In>
void sums_along(const In* w, std::int64_t w_stride, std::int64_t lines, std::int64_t terms, const HeldVectors<In>& x,
                int vectors, Accumulator<In>* sums) {
  const int groups = (vectors + vectors_at_once<In> - 1) / vectors_at_once<In>;
  const int at_once = (vectors + groups - 1) / groups;
  // Short lines of one vector, one behind the other, are one stream.
  const bool is_stream = vectors == 1 && terms * static_cast<std::int64_t>(sizeof(In)) <= ahead_along<1>;
  const std::int64_t group = is_stream ? 1 : lines_of_group<In>(at_once);
  for (std::int64_t j = 0; j < lines; j += group) {
    const std::int64_t here = std::min(group, lines - j);
    const LinesAt<In> at{w + j * w_stride, w_stride, terms, j + group < lines ? group * w_stride : terms};
    for (int i = 0; i < vectors; i += at_once) {
      const HeldVectors<In> from = x.from(i);
      Accumulator<In>* to = sums + j * vectors + i;
      switch (std::min(vectors - i, at_once)) {
        case 1: sum_lines_with<In, 1>(at, from, to, vectors, here); break;
        case 2: sum_lines_with<In, 2>(at, from, to, vectors, here); break;
        case 3: sum_lines_with<In, 3>(at, from, to, vectors, here); break;
        default:
          if constexpr (vectors_at_once<In> == 4) sum_lines_with<In, 4>(at, from, to, vectors, here);
      }
    }
  }
}

template <class In>
void hold_vector(const void* elements, std::int64_t stride, std::int64_t terms, LaneOf<In>* held) {
  const In* const x = static_cast<const In*>(elements);
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
