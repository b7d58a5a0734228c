// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums along lines, each in the lanes of highway_lane_sums.hpp. A group of lines is read side by side, part after
/// part: as many streams as lines, which the processors' own prefetchers follow; or lines are read one by one, where
/// VectorBlocks says so, and nothing is asked for. With AVX-512 each line of a group is asked for
/// ahead: on a Xeon that gains up to 7 % where lines are short, and asking for the next group's lines instead costs 17
/// % from memory; on Zen 5 it gains 15 to 50 % for two vectors and more; on Zen 3 asking costs 15 %. Asking 512 bytes
/// ahead is 5 to 15 % faster than 1024 on Zen 4, and as fast on an Emerald Rapids.
#pragma once

#include "cpu/micro/highway_lane_sums.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// Where the lines of a group lie.
template <class In>
struct LinesAt {
  const In* w;
  std::int64_t stride;
  std::int64_t terms;
};

template <class In>
using PartSums = LaneSums<In, registers_of_part<In>>;

/// Bytes of a line from what is read to what is asked for; at its end to the beginning of the next group's.
inline constexpr std::int64_t ahead_along = 512;

/// Register r of each sum takes a vector of terms from p on.
template <class In, int LinesAtOnce, int Vectors, class Register, class Load>
HWY_INLINE void add_terms(const LinesAt<In>& at, std::int64_t p, Register r, const LaneOf<In>* held,
                          std::int64_t held_stride, PartSums<In> (&sums)[LinesAtOnce][Vectors], const Load& load) {
  constexpr std::int64_t ahead = ahead_along / static_cast<std::int64_t>(sizeof(In));
  [[maybe_unused]] std::int64_t distance = ahead;
  if constexpr (LinesAtOnce > 1)  // the stride of one line may be anything
    if (p + ahead >= at.terms) distance = LinesAtOnce * at.stride + ahead - at.terms;
  unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
    if constexpr (LinesAtOnce > 1 && HWY_TARGET == HWY_AVX3) __builtin_prefetch(at.w + j * at.stride + p + distance);
    const Vector<LaneOf<In>> w = load(at.w + j * at.stride + p);
    unrolled<Vectors>([&](auto i)
                          __attribute__((always_inline)) { sums[j][i].template add<r>(w, held + i * held_stride); });
  });
}

/// The last terms, fewer than all lanes of a part.
template <class In, int LinesAtOnce, int Vectors>
HWY_INLINE void add_rest(const LinesAt<In>& at, std::int64_t p, const HeldVectors<In>& x,
                         PartSums<In> (&sums)[LinesAtOnce][Vectors]) {
  constexpr int vector_terms = terms_of_vector<In>;
  unrolled<registers_of_part<In>>([&](auto r) __attribute__((always_inline)) {
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

/// The terms from `begin` to `end`.
template <class In, int LinesAtOnce, int Vectors>
HWY_INLINE void sum_part(const LinesAt<In>& at, std::int64_t begin, std::int64_t end, const HeldVectors<In>& x,
                         PartSums<In> (&sums)[LinesAtOnce][Vectors]) {
  constexpr int vector_terms = terms_of_vector<In>;
  constexpr int registers = registers_of_part<In>;
  constexpr std::int64_t step = std::int64_t{registers} * vector_terms;
  unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
    unrolled<Vectors>([&](auto i) __attribute__((always_inline)) { sums[j][i].clear(); });
  });
  std::int64_t p = begin;
  for (; p + step <= end; p += step)
    unrolled<registers>([&](auto r) __attribute__((always_inline)) {
      const std::int64_t term = p + r * vector_terms;
      add_terms(at, term, r, x.held + term * held_lanes<In>, x.held_stride, sums, load_terms<In>);
    });
  if (p < end) add_rest(at, p, x, sums);
}

/// Lines that are no longer than a part.
template <class In, int LinesAtOnce, int Vectors>
HWY_INLINE void sum_short_lines(const LinesAt<In>& at, const HeldVectors<In>& x, Accumulator<In>* sums,
                                std::int64_t sums_stride) {
  PartSums<In> part[LinesAtOnce][Vectors];
  sum_part(at, 0, at.terms, x, part);
  unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
    unrolled<Vectors>([&](auto i) __attribute__((always_inline)) {
      part[j][i].add_empty_parts();
      sums[j * sums_stride + i] = part[j][i].total();
    });
  });
}

template <class In, int LinesAtOnce, int Vectors>
HWY_INLINE void sum_lines(const LinesAt<In>& at, const HeldVectors<In>& x, Accumulator<In>* sums,
                          std::int64_t sums_stride) {
  const std::int64_t terms = terms_of_part<In>(at.terms);
  // For the code it takes, all but AVX2 have it for one vector alone.
  if constexpr (HWY_TARGET == HWY_AVX2 || Vectors == 1)
    if (at.terms <= terms) return sum_short_lines<In, LinesAtOnce, Vectors>(at, x, sums, sums_stride);
  LaneSums<In> lanes[LinesAtOnce][Vectors];
  for (int q = 0; q < parts_of_sum<In>; ++q) {  // the sums of finished parts lie in memory
    PartSums<In> part[LinesAtOnce][Vectors];
    sum_part(at, q * terms, std::min((q + 1) * terms, at.terms), x, part);
    unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
      unrolled<Vectors>([&](auto i) __attribute__((always_inline)) { lanes[j][i].take(q, part[j][i]); });
    });
  }
  unrolled<LinesAtOnce>([&](auto j) __attribute__((always_inline)) {
    unrolled<Vectors>([&](auto i) __attribute__((always_inline)) { sums[j * sums_stride + i] = lanes[j][i].total(); });
  });
}

/// Registers that hold sums, beside those of factors.
inline constexpr int registers_for_sums = HWY_TARGET == HWY_AVX2 ? 12 : 16;
/// Those of a part's sum.
template <class In>
inline constexpr int registers_of_product = registers_of_part<In>*(core::is_complex_v<In> ? 2 : 1);

/// Vectors of a group, so that two lines are left room for, and lines of a group of so many vectors.
template <class In>
inline constexpr int vectors_at_once = std::clamp(registers_for_sums / (2 * registers_of_product<In>), 1, 4);
template <class In, int Vectors>
inline constexpr int lines_at_once = std::clamp(registers_for_sums / (Vectors * registers_of_product<In>), 1,
                                                Vectors == 1 ? std::max(8 / registers_of_product<In>, 1) : 4);

template <class In, int Vectors>
void sum_lines_with(const LinesAt<In>& at, const HeldVectors<In>& x, Accumulator<In>* sums, std::int64_t sums_stride,
                    std::int64_t lines, bool one_by_one) {
  constexpr int group = lines_at_once<In, Vectors>;
  if (lines == group && !one_by_one)
    sum_lines<In, group, Vectors>(at, x, sums, sums_stride);
  else
    for (std::int64_t j = 0; j < lines; ++j)
      sum_lines<In, 1, Vectors>({at.w + j * at.stride, at.stride, at.terms}, x, sums + j * sums_stride, sums_stride);
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
                int vectors, bool one_by_one, Accumulator<In>* sums) {
  constexpr int most = vectors_at_once<In>;
  const int groups = (vectors + most - 1) / most;
  const int at_once = (vectors + groups - 1) / groups;
  const std::int64_t group = one_by_one && groups == 1 ? lines : lines_of_group<In>(at_once);
  for (std::int64_t j = 0; j < lines; j += group) {
    const std::int64_t here = std::min(group, lines - j);
    const LinesAt<In> at{w + j * w_stride, w_stride, terms};
    for (int i = 0; i < vectors; i += at_once) {
      const HeldVectors<In> from = x.from(i);
      Accumulator<In>* to = sums + j * vectors + i;
      switch (std::min(vectors - i, at_once)) {
        case 1: sum_lines_with<In, 1>(at, from, to, vectors, here, one_by_one); break;
        case 2:
          if constexpr (most >= 2) sum_lines_with<In, 2>(at, from, to, vectors, here, one_by_one);
          break;
        case 3:
          if constexpr (most >= 3) sum_lines_with<In, 3>(at, from, to, vectors, here, one_by_one);
          break;
        default:
          if constexpr (most >= 4) sum_lines_with<In, 4>(at, from, to, vectors, here, one_by_one);
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
