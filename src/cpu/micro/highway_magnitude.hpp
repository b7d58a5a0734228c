// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu/micro/highway_vector.hpp"
#include "cpu/micro/tile.hpp"
#include "exactile/types.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// Magnitudes of numbers less one, among which that of zero is the largest.
using Magnitudes = hn::Vec<Lanes<std::uint16_t>>;
HWY_INLINE Magnitudes less_one(Magnitudes bits) {
  const Lanes<std::uint16_t> d;
  return hn::Sub(hn::And(bits, hn::Set(d, 0x7fff)), hn::Set(d, 1));
}

/// The smallest of all lanes, as it was.
HWY_INLINE std::uint32_t smallest_of(Magnitudes least) {
  // Two lanes of 16 bits as one of 32: a minimum of the halves, then of all.
  const hn::Repartition<std::uint32_t, Lanes<std::uint16_t>> d32;
  const auto pairs = hn::BitCast(d32, least);
  const auto low = hn::And(pairs, hn::Set(d32, 0xffff));
  const std::uint32_t found = hn::GetLane(hn::MinOfLanes(d32, hn::Min(low, hn::ShiftRight<16>(pairs))));
  return found == 0xffff ? no_magnitude : found + 1;
}

/// See tile.hpp.
inline std::uint32_t smallest_magnitude(const BFloat16* numbers, std::int64_t lines, std::int64_t line_stride,
                                        std::int64_t length) {
  using Bits = std::uint16_t;
  const Lanes<Bits> d;
  constexpr std::int64_t step = lane_count<Bits>;
  const auto* line = reinterpret_cast<const Bits*>(numbers);
  if (line_stride == length) {
    length *= lines;
    lines = 1;
  }
  auto least = hn::Set(d, 0xffff);
  auto other = least;
  const auto rest = hn::FirstN(d, static_cast<std::size_t>(length % step));
  for (; lines > 0; --lines, line += line_stride) {
    std::int64_t i = 0;
    for (; i + 2 * step <= length; i += 2 * step) {
      least = hn::Min(least, less_one(hn::LoadU(d, line + i)));
      other = hn::Min(other, less_one(hn::LoadU(d, line + i + step)));
    }
    if (i + step <= length) {
      least = hn::Min(least, less_one(hn::LoadU(d, line + i)));
      i += step;
    }
    if (i < length) other = hn::Min(other, less_one(hn::MaskedLoad(rest, d, line + i)));
  }
  return smallest_of(hn::Min(least, other));
}

}  // namespace exactile::cpu::HWY_NAMESPACE
