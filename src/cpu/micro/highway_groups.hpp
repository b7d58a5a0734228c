// SPDX-License-Identifier: Apache-2.0
/// \file How narrow terms become lanes, and what multiplies them, for each kind of product (elements.hpp).
#pragma once

#include <bit>

#include "cpu/micro/highway_tile.hpp"
#include "cpu/micro/highway_widen.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// Instructions of one processor in two are written as assembly: the file's flags need not allow them, so that what the
/// compiler makes of templates is the same in every file of an instruction set.
template <>
struct MultiplyAdd<Bf16Pairs> {
  static HWY_INLINE void into(Vector<float>& sum, Vector<float> a, Vector<float> b) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  }
};
template <>
struct MultiplyAdd<I8Quads> {
  /// `a` without sign.
  static HWY_INLINE void into(Vector<std::int32_t>& sum, Vector<std::int32_t> a, Vector<std::int32_t> b) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  }
};
template <>
struct MultiplyAdd<I8Pairs> {
  static HWY_INLINE void into(Vector<std::int32_t>& sum, Vector<std::int32_t> a, Vector<std::int32_t> b) {
    Vector<std::int32_t> products;
    asm("vpmaddwd %2, %1, %0" : "=v"(products.raw) : "v"(a.raw), "v"(b.raw));
    asm("vpaddd %1, %0, %0" : "+v"(sum.raw) : "v"(products.raw));
  }
};

/// What packing needs of a kind:
///   lanes(d, from, stride): a vector of neighbouring lanes, each a whole group of terms `stride` apart
///   vector_of_terms(d, from): a vector of one lane's neighbouring groups, whose terms are neighbours
///   lane(terms, from, stride): one lane of 0 < terms <= group terms; what is missing is zero
///   finish_a(), finish_b(): done to each packed panel
///   is_copy: whether vector_of_terms() reads a group's bytes as they are
///   exchanges: whether even and odd terms change places
template <class K>
struct Groups;

struct NothingToFinish {
  static constexpr bool is_copy = false;
  static constexpr bool exchanges = false;
  template <class T>
  static HWY_INLINE void finish_a(T*, std::int64_t, std::int64_t) {}
  template <class T>
  static HWY_INLINE void finish_b(T*, std::int64_t, std::int64_t) {}
};

template <class Narrow>
struct Groups<Widened<Narrow>> : NothingToFinish {
  static constexpr bool exchanges = std::is_same_v<Narrow, BFloat16>;
  template <class D>
  static HWY_INLINE hn::Vec<D> lanes(D d, const Narrow* from, std::int64_t) {
    return widen(d, from);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> vector_of_terms(D d, const Narrow* from) {
    if constexpr (exchanges) return hn::Shuffle2301(widen(d, from));
    return widen(d, from);
  }
  static HWY_INLINE float lane(std::int64_t, const Narrow* from, std::int64_t) { return static_cast<float>(*from); }
};

template <>
struct Groups<Bf16Pairs> : NothingToFinish {
  static constexpr bool is_copy = true;
  template <class D>
  static HWY_INLINE hn::Vec<D> lanes(D d, const BFloat16* from, std::int64_t stride) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::RebindToUnsigned<D> du;
    const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
    const auto first = hn::PromoteTo(du, hn::LoadU(d16, bits));
    const auto second = hn::PromoteTo(du, hn::LoadU(d16, bits + stride));
    return hn::BitCast(d, hn::Or(first, hn::ShiftLeft<16>(second)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> vector_of_terms(D d, const BFloat16* from) {
    return hn::LoadU(d, reinterpret_cast<const float*>(from));
  }
  static HWY_INLINE float lane(std::int64_t terms, const BFloat16* from, std::int64_t stride) {
    const BFloat16 pair[2] = {from[0], terms > 1 ? from[stride] : BFloat16(0.0F)};
    return std::bit_cast<float>(pair);
  }
};

template <>
struct Groups<I8Quads> : NothingToFinish {
  static constexpr bool is_copy = true;
  template <class D>
  static HWY_INLINE hn::Vec<D> lanes(D d, const std::int8_t* from, std::int64_t stride) {
    const hn::Rebind<std::uint8_t, D> d8;
    const hn::RebindToUnsigned<D> du;
    const auto row = [&](std::int64_t p) __attribute__((always_inline)) {
      return hn::PromoteTo(du, hn::LoadU(d8, reinterpret_cast<const std::uint8_t*>(from + p * stride)));
    };
    const auto low = hn::Or(row(0), hn::ShiftLeft<8>(row(1)));
    const auto high = hn::Or(row(2), hn::ShiftLeft<8>(row(3)));
    return hn::BitCast(d, hn::Or(low, hn::ShiftLeft<16>(high)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> vector_of_terms(D d, const std::int8_t* from) {
    return hn::LoadU(d, reinterpret_cast<const std::int32_t*>(from));
  }
  static HWY_INLINE std::int32_t lane(std::int64_t terms, const std::int8_t* from, std::int64_t stride) {
    std::int8_t quad[4] = {};
    for (std::int64_t p = 0; p < terms; ++p) quad[p] = from[p * stride];
    return std::bit_cast<std::int32_t>(quad);
  }
  /// Adds 128 to every byte.
  static HWY_INLINE void finish_a(std::int32_t* panel, std::int64_t width, std::int64_t groups) {
    const Lanes<std::int32_t> d;
    constexpr std::int64_t step = lane_count<std::int32_t>;
    const auto bias = hn::Set(d, static_cast<std::int32_t>(0x80808080U));
    std::int64_t l = 0;
    for (; l + step <= width * groups; l += step) hn::StoreU(hn::Xor(bias, hn::LoadU(d, panel + l)), d, panel + l);
    for (; l < width * groups; ++l) panel[l] ^= static_cast<std::int32_t>(0x80808080U);
  }
  /// Writes the correction behind the last group. `width` is a number of whole vectors.
  static HWY_INLINE void finish_b(std::int32_t* panel, std::int64_t width, std::int64_t groups) {
    const Lanes<std::int32_t> d;
    const auto bias = hn::Set(d, static_cast<std::int32_t>(0x80808080U));
    for (std::int64_t l = 0; l < width; l += lane_count<std::int32_t>) {
      auto even = hn::Zero(d);
      auto odd = hn::Zero(d);
      std::int64_t g = 0;
      for (; g + 2 <= groups; g += 2) {
        MultiplyAdd<I8Quads>::into(even, bias, hn::LoadU(d, panel + g * width + l));
        MultiplyAdd<I8Quads>::into(odd, bias, hn::LoadU(d, panel + (g + 1) * width + l));
      }
      if (g < groups) MultiplyAdd<I8Quads>::into(even, bias, hn::LoadU(d, panel + g * width + l));
      hn::StoreU(hn::Neg(hn::Add(even, odd)), d, panel + groups * width + l);
    }
  }
};

template <>
struct Groups<I8Pairs> : NothingToFinish {
  template <class D>
  static HWY_INLINE hn::Vec<D> lanes(D d, const std::int8_t* from, std::int64_t stride) {
    const hn::Rebind<std::int8_t, D> d8;
    const auto first = hn::PromoteTo(d, hn::LoadU(d8, from));
    const auto second = hn::PromoteTo(d, hn::LoadU(d8, from + stride));
    return hn::Or(hn::And(first, hn::Set(d, 0xffff)), hn::ShiftLeft<16>(second));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> vector_of_terms(D d, const std::int8_t* from) {
    const hn::Repartition<std::int16_t, D> d16;
    const hn::Rebind<std::int8_t, decltype(d16)> d8;
    return hn::BitCast(d, hn::PromoteTo(d16, hn::LoadU(d8, from)));
  }
  static HWY_INLINE std::int32_t lane(std::int64_t terms, const std::int8_t* from, std::int64_t stride) {
    std::int16_t pair[2] = {};
    for (std::int64_t p = 0; p < terms; ++p) pair[p] = from[p * stride];
    return std::bit_cast<std::int32_t>(pair);
  }
};

}  // namespace exactile::cpu::HWY_NAMESPACE
