// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu/micro/highway_vector.hpp"
#include "cpu/micro/tile.hpp"
#include "exactile/types.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

/// See tile.hpp. Zero less one is larger than all others.
inline std::uint32_t smallest_magnitude(const BFloat16* numbers, std::int64_t lines, std::int64_t line_stride,
                                        std::int64_t length) {
  using Bits = std::uint16_t;
  const Lanes<Bits> d;
  constexpr std::int64_t step = lane_count<Bits>;
  const auto* line = reinterpret_cast<const Bits*>(numbers);
  const auto magnitude = hn::Set(d, 0x7fff);
  const auto one = hn::Set(d, 1);
  const auto less_one = [&](hn::Vec<Lanes<Bits>> bits) __attribute__((always_inline)) {
    return hn::Sub(hn::And(bits, magnitude), one);
  };
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
  // Two lanes of 16 bits as one of 32: a minimum of the halves, then of all.
  const hn::Repartition<std::uint32_t, Lanes<Bits>> d32;
  const auto pairs = hn::BitCast(d32, hn::Min(least, other));
  const auto low = hn::And(pairs, hn::Set(d32, 0xffff));
  const std::uint32_t found = hn::GetLane(hn::MinOfLanes(d32, hn::Min(low, hn::ShiftRight<16>(pairs))));
  return found == 0xffff ? no_magnitude : found + 1;
}

}  // namespace exactile::cpu::HWY_NAMESPACE
