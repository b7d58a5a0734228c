// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu/micro/highway_vector.hpp"
#include "cpu/micro/round.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// A carry out of the mantissa raises the exponent by itself. What is no number stays none.
template <class D>
HWY_INLINE void round_vector(D, hn::Vec<D> value, BFloat16* to) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint16_t, D> d16;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff)));
  const auto quiet = hn::Or(bits, hn::Set(du, 0x400000));
  const auto is_nan = hn::RebindMask(du, hn::Ne(value, value));
  const auto code = hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded));
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(hn::RebindToSigned<D>(), code)), d16, reinterpret_cast<std::uint16_t*>(to));
}

template <class D>
HWY_INLINE void round_vector(D, hn::Vec<D> value, Float16* to) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::Rebind<hwy::float16_t, D> half;
  hn::StoreU(hn::BitCast(d16, hn::DemoteTo(half, value)), d16, reinterpret_cast<std::uint16_t*>(to));
}

template <class Narrow>
void round_row(const float* from, std::int64_t count, Narrow* to) {
  const Lanes<float> d;
  std::int64_t i = 0;
  for (; i + lane_count<float> <= count; i += lane_count<float>) round_vector(d, hn::LoadU(d, from + i), to + i);
  for (; i < count; ++i) to[i] = Narrow(from[i]);
}

}  // namespace exactile::cpu::HWY_NAMESPACE
