// SPDX-License-Identifier: Apache-2.0
/// \file Numbers of 8 and 16 bits as f32, exactly.
#pragma once

#include "cpu/micro/highway_vector.hpp"
#include "exactile/types.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// As many numbers as the f32 vectors of D have lanes, or what `load` leaves of them.
template <class D, class Load = AllLanes>
HWY_INLINE hn::Vec<D> widen(D d, const BFloat16* from, const Load& load = {}) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, load(d16, reinterpret_cast<const uint16_t*>(from)))));
}

template <class D, class Load = AllLanes>
HWY_INLINE hn::Vec<D> widen(D d, const Float16* from, const Load& load = {}) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::Rebind<hwy::float16_t, D> half;
  return hn::PromoteTo(d, hn::BitCast(half, load(d16, reinterpret_cast<const std::uint16_t*>(from))));
}

/// The upper half of an f16.
template <class D, class Load = AllLanes>
HWY_INLINE hn::Vec<D> widen(D d, const Float8E5M2* from, const Load& load = {}) {
  const hn::Rebind<std::uint8_t, D> d8;
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::Rebind<hwy::float16_t, D> half;
  const auto codes = hn::PromoteTo(d16, load(d8, reinterpret_cast<const std::uint8_t*>(from)));
  return hn::PromoteTo(d, hn::BitCast(half, hn::ShiftLeft<8>(codes)));
}

/// Exponent and mantissa as those of an f16 are a number 2^8 times too small; the largest code is no number.
template <class D, class Load = AllLanes>
HWY_INLINE hn::Vec<D> widen(D d, const Float8E4M3* from, const Load& load = {}) {
  const hn::Rebind<std::uint8_t, D> d8;
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::Rebind<hwy::float16_t, D> half;
  const auto codes = hn::PromoteTo(d16, load(d8, reinterpret_cast<const std::uint8_t*>(from)));
  const auto magnitude = hn::And(codes, hn::Set(d16, 0x7f));
  const auto sign = hn::ShiftLeft<8>(hn::AndNot(hn::Set(d16, 0x7f), codes));
  const auto is_nan = hn::VecFromMask(d16, hn::Eq(magnitude, hn::Set(d16, 0x7f)));
  const auto bits = hn::Or(hn::Or(sign, hn::ShiftLeft<7>(magnitude)), hn::And(is_nan, hn::Set(d16, 0x7e00)));
  return hn::Mul(hn::PromoteTo(d, hn::BitCast(half, bits)), hn::Set(d, 256.0F));
}

}  // namespace exactile::cpu::HWY_NAMESPACE
