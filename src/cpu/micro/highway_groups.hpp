// SPDX-License-Identifier: Apache-2.0
/// \file How narrow terms become lanes, and what multiplies them, for each kind of product (elements.hpp).
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>

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
struct MultiplyAdd<I16Pairs> {
  static HWY_INLINE void into(Vector<std::int32_t>& sum, Vector<std::int32_t> a, Vector<std::int32_t> b) {
    asm("vpdpwssd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  }
};
template <>
struct MultiplyAdd<I32Wide> {
  static HWY_INLINE void into(Vector<std::int64_t>& sum, Vector<std::int64_t> a, Vector<std::int64_t> b) {
#if HWY_TARGET == HWY_NEON
    sum.raw = vmlal_s32(sum.raw, vmovn_s64(a.raw), vmovn_s64(b.raw));
#else
    Vector<std::int64_t> product;
    asm("vpmuldq %2, %1, %0" : "=v"(product.raw) : "v"(a.raw), "v"(b.raw));
    asm("vpaddq %1, %0, %0" : "+v"(sum.raw) : "v"(product.raw));
#endif
  }
};
template <>
struct MultiplyAdd<I8Pairs> {
  static HWY_INLINE void into(Vector<std::int32_t>& sum, Vector<std::int32_t> a, Vector<std::int32_t> b) {
#if HWY_TARGET == HWY_NEON
    // The second terms' halves are the upper ones. What is done to `a` and to `b` alone is done once in an unrolled
    // tile.
    sum.raw = vmlal_s16(sum.raw, vmovn_s32(a.raw), vmovn_s32(b.raw));
    sum.raw = vmlal_s16(sum.raw, vshrn_n_s32(a.raw, 16), vshrn_n_s32(b.raw, 16));
#else
    Vector<std::int32_t> products;
    asm("vpmaddwd %2, %1, %0" : "=v"(products.raw) : "v"(a.raw), "v"(b.raw));
    asm("vpaddd %1, %0, %0" : "+v"(sum.raw) : "v"(products.raw));
#endif
  }
};

/// What packing needs of a kind:
///   lanes(d, from, stride): a vector of neighbouring lanes, each a whole group of terms `stride` apart
///   vector_of_terms(d, from, load): a vector of one lane's neighbouring groups, whose terms are neighbours, or what
///   `load` leaves of them
///   lane(terms, from, stride): one lane of 0 < terms <= group terms; what is missing is zero
///   finish_a(), finish_b(): done to each packed panel
///   exchanges: whether even and odd terms change places
/// `Number`: of the operand that is packed, `Other`: of the other one.
template <class K, class Number = Input<K>, class Other = Input<K>>
struct Groups;

struct NothingToFinish {
  static constexpr bool exchanges = false;
  template <class T>
  static HWY_INLINE void finish_a(T*, std::int64_t, std::int64_t) {}
  template <class T>
  static HWY_INLINE void finish_b(T*, std::int64_t, std::int64_t) {}
};

template <class Narrow>
struct Groups<Widened<Narrow>, Narrow, Narrow> : NothingToFinish {
  static constexpr bool exchanges = std::is_same_v<Narrow, BFloat16>;
  template <class D>
  static HWY_INLINE hn::Vec<D> lanes(D d, const Narrow* from, std::int64_t) {
    return widen(d, from);
  }
  template <class D, class Load>
  static HWY_INLINE hn::Vec<D> vector_of_terms(D d, const Narrow* from, const Load& load) {
    if constexpr (exchanges) return hn::Shuffle2301(widen(d, from, load));
    return widen(d, from, load);
  }
  static HWY_INLINE float lane(std::int64_t, const Narrow* from, std::int64_t) { return static_cast<float>(*from); }
};

/// Two numbers of 16 bits, as they are.
template <class Number, class Lane>
struct PairsAsTheyAre : NothingToFinish {
  template <class D>
  static HWY_INLINE hn::Vec<D> lanes(D d, const Number* from, std::int64_t stride) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::RebindToUnsigned<D> du;
    const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
    const auto first = hn::PromoteTo(du, hn::LoadU(d16, bits));
    const auto second = hn::PromoteTo(du, hn::LoadU(d16, bits + stride));
    return hn::BitCast(d, hn::Or(first, hn::ShiftLeft<16>(second)));
  }
  template <class D, class Load>
  static HWY_INLINE hn::Vec<D> vector_of_terms(D d, const Number* from, const Load& load) {
    return hn::BitCast(d, load(hn::Repartition<std::uint16_t, D>(), reinterpret_cast<const std::uint16_t*>(from)));
  }
  static HWY_INLINE Lane lane(std::int64_t terms, const Number* from, std::int64_t stride) {
    const Number pair[2] = {from[0], terms > 1 ? from[stride] : Number{}};
    return std::bit_cast<Lane>(pair);
  }
};
template <>
struct Groups<Bf16Pairs> : PairsAsTheyAre<BFloat16, float> {};
template <>
struct Groups<I16Pairs> : PairsAsTheyAre<std::int16_t, std::int32_t> {};

template <>
struct Groups<I32Wide> : NothingToFinish {
  template <class D>
  static HWY_INLINE hn::Vec<D> lanes(D d, const std::int32_t* from, std::int64_t) {
    return vector_of_terms(d, from, AllLanes());
  }
  template <class D, class Load>
  static HWY_INLINE hn::Vec<D> vector_of_terms(D d, const std::int32_t* from, const Load& load) {
    return hn::PromoteTo(d, load(hn::Rebind<std::int32_t, D>(), from));
  }
  static HWY_INLINE std::int64_t lane(std::int64_t, const std::int32_t* from, std::int64_t) { return *from; }
};

/// Four bytes, as they are.
struct QuadsAsTheyAre : NothingToFinish {
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
  template <class D, class Load>
  static HWY_INLINE hn::Vec<D> vector_of_terms(D d, const std::int8_t* from, const Load& load) {
    return hn::BitCast(d, load(hn::Repartition<std::int8_t, D>(), from));
  }
  static HWY_INLINE std::int32_t lane(std::int64_t terms, const std::int8_t* from, std::int64_t stride) {
    std::int8_t quad[4] = {};
    for (std::int64_t p = 0; p < terms; ++p) quad[p] = from[p * stride];
    return std::bit_cast<std::int32_t>(quad);
  }
};

/// Moved by 128 where VPDPBUSD takes the other sign, with corrections (elements.hpp). K: I8Quads, or a stand-in.
template <class K, class Number, class Other>
struct MovedQuads : QuadsAsTheyAre {
  static constexpr auto moved = static_cast<std::int32_t>(0x80808080U);

  static HWY_INLINE void finish_a(std::int32_t* panel, std::int64_t width, std::int64_t groups) {
    if constexpr (std::is_signed_v<Number>) move(panel, width * groups);
    if constexpr (std::is_unsigned_v<Other>)
      correct<true>(panel, width, groups, 0);
    else
      std::fill_n(panel + width * groups, width, 0);
  }
  static HWY_INLINE void finish_b(std::int32_t* panel, std::int64_t width, std::int64_t groups) {
    if constexpr (std::is_unsigned_v<Number>) move(panel, width * groups);
    // The sums are those of b, not of what it became.
    constexpr std::int64_t of_group = std::is_unsigned_v<Number> ? -4 * 128 * 128 : 0;
    if constexpr (std::is_signed_v<Other>)
      correct<false>(panel, width, groups, static_cast<std::int32_t>(of_group * groups));
    else
      std::fill_n(panel + width * groups, width, 0);
  }

 private:
  /// Adds 128 to every byte, or takes it away.
  static HWY_INLINE void move(std::int32_t* panel, std::int64_t lanes) {
    const Lanes<std::int32_t> d;
    constexpr std::int64_t step = lane_count<std::int32_t>;
    const auto bias = hn::Set(d, moved);
    std::int64_t l = 0;
    for (; l + step <= lanes; l += step) hn::StoreU(hn::Xor(bias, hn::LoadU(d, panel + l)), d, panel + l);
    for (; l < lanes; ++l) panel[l] ^= moved;
  }
  /// Writes corrections behind the last group: 128 times the sum of a row of A, or `first` and -128 times that of a
  /// column of B. As VPDPBUSD reads them, the bytes of `moved` are -128 beside A and 128 beside B.
  template <bool OfA>
  static HWY_INLINE void correct(std::int32_t* panel, std::int64_t width, std::int64_t groups, std::int32_t first) {
    const Lanes<std::int32_t> d;
    constexpr std::int64_t step = lane_count<std::int32_t>;
    const auto bias = hn::Set(d, moved);
    const auto add = [&](Vector<std::int32_t> & sum, std::int64_t at, std::int64_t lanes)
        __attribute__((always_inline)) {
      const auto some = first_lanes(d, static_cast<std::size_t>(lanes < step ? lanes : step));
      const auto bytes = load_first(some, d, panel + at);
      if constexpr (OfA)
        MultiplyAdd<K>::into(sum, bytes, bias);
      else
        MultiplyAdd<K>::into(sum, bias, bytes);
    };
    if (width == 1) {
      auto sum = hn::Zero(d);
      for (std::int64_t g = 0; g < groups; g += step) add(sum, g, groups - g);
      panel[groups] = first - hn::GetLane(hn::SumOfLanes(d, sum));
      return;
    }
    for (std::int64_t l = 0; l < width; l += step) {
      auto even = hn::Zero(d);
      auto odd = hn::Zero(d);
      std::int64_t g = 0;
      for (; g + 2 <= groups; g += 2) {
        add(even, g * width + l, width - l);
        add(odd, (g + 1) * width + l, width - l);
      }
      if (g < groups) add(even, g * width + l, width - l);
      const auto some = first_lanes(d, static_cast<std::size_t>(width - l < step ? width - l : step));
      store_first(hn::Sub(hn::Set(d, first), hn::Add(even, odd)), some, d, panel + groups * width + l);
    }
  }
};

template <class Number, class Other>
struct Groups<I8Quads, Number, Other> : MovedQuads<I8Quads, Number, Other> {};

template <class Number, class Other>
struct Groups<I8Pairs, Number, Other> : NothingToFinish {
  template <class D>
  static HWY_INLINE hn::Vec<D> lanes(D d, const std::int8_t* from, std::int64_t stride) {
    const auto first = hn::PromoteTo(d, numbers(d, from, AllLanes()));
    const auto second = hn::PromoteTo(d, numbers(d, from + stride, AllLanes()));
    return hn::Or(hn::And(first, hn::Set(d, 0xffff)), hn::ShiftLeft<16>(second));
  }
  template <class D, class Load>
  static HWY_INLINE hn::Vec<D> vector_of_terms(D d, const std::int8_t* from, const Load& load) {
    const hn::Repartition<std::int16_t, D> d16;
    return hn::BitCast(d, hn::PromoteTo(d16, numbers(d16, from, load)));
  }
  static HWY_INLINE std::int32_t lane(std::int64_t terms, const std::int8_t* from, std::int64_t stride) {
    std::int16_t pair[2] = {};
    for (std::int64_t p = 0; p < terms; ++p) pair[p] = static_cast<Number>(from[p * stride]);
    return std::bit_cast<std::int32_t>(pair);
  }

 private:
  /// As many as D has lanes.
  template <class D, class Load>
  static HWY_INLINE auto numbers(D, const std::int8_t* from, const Load& load) {
    return load(hn::Rebind<Number, D>(), reinterpret_cast<const Number*>(from));
  }
};

}  // namespace exactile::cpu::HWY_NAMESPACE
