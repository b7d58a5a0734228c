// SPDX-License-Identifier: Apache-2.0
/// \file Registers of f64 for tile.hpp.
#pragma once

#include <limits>

#include "cpu/micro/highway_vector.hpp"

namespace exactile::cpu::HWY_NAMESPACE {

struct Doubles {
  using Register = Vector<double>;
  static constexpr int lanes = lane_count<double>;

  static HWY_INLINE Register set(double x) { return hn::Set(Lanes<double>(), x); }
  static HWY_INLINE Register load(const double* from) { return hn::LoadU(Lanes<double>(), from); }
  static HWY_INLINE void store(Register x, double* to) { hn::StoreU(x, Lanes<double>(), to); }
  static HWY_INLINE Register add(Register x, Register y) { return hn::Add(x, y); }
  static HWY_INLINE Register subtract(Register x, Register y) { return hn::Sub(x, y); }
  static HWY_INLINE Register multiply(Register x, Register y) { return hn::Mul(x, y); }
  static HWY_INLINE Register multiply_add(Register x, Register y, Register z) { return hn::MulAdd(x, y, z); }
  static HWY_INLINE Register multiply_subtract(Register x, Register y, Register z) { return hn::MulSub(x, y, z); }
  static HWY_INLINE Register magnitude(Register x) { return hn::Abs(x); }
  static HWY_INLINE void add_exact_product(Register& sum, Register x, Register y) { multiply_add_into(sum, x, y); }
  /// `y` where one is NaN.
  static HWY_INLINE Register smaller(Register x, Register y) { return hn::IfThenElse(hn::Lt(x, y), x, y); }
  /// last_bit() of lines.hpp.
  static HWY_INLINE Register last_bit(Register x) {
    const Lanes<double> d;
    const Lanes<std::uint64_t> u;
    const auto bits = hn::BitCast(u, x);
    const auto without = hn::BitCast(d, hn::And(bits, hn::Sub(bits, hn::Set(u, 1))));
    const auto fraction = hn::And(bits, hn::Set(u, (std::uint64_t{1} << 52) - 1));
    const auto is_power = hn::RebindMask(d, hn::Eq(fraction, hn::Zero(u)));
    const auto last = hn::Abs(hn::IfThenElse(is_power, x, hn::Sub(x, without)));
    return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Inf(d), last);
  }
  static HWY_INLINE Register zero_where_exact(Register error, Register grains, double largest, Register steps) {
    const Lanes<double> d;
    const auto is_exact = hn::And(hn::Le(grains, hn::Set(d, largest)), hn::Gt(steps, hn::Zero(d)));
    return hn::IfThenZeroElse(is_exact, error);
  }
  /// `least` to f32; a bit for each lane that `most` is not rounded to the same, or that is not finite.
  static HWY_INLINE std::uint64_t round_to_floats(Register least, Register most, float* to) {
    const hn::Rebind<float, Lanes<double>> f;
    const hn::RebindToUnsigned<decltype(f)> u;
    const auto first = hn::DemoteTo(f, least);
    const auto same = hn::Eq(hn::BitCast(u, first), hn::BitCast(u, hn::DemoteTo(f, most)));
    const auto is_finite = hn::Le(hn::Abs(first), hn::Set(f, std::numeric_limits<float>::max()));
    hn::StoreU(first, f, to);
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(f, hn::And(hn::RebindMask(f, same), is_finite), bits);
    return ~std::uint64_t{bits[0]} & ((1U << lanes) - 1);
  }
};

}  // namespace exactile::cpu::HWY_NAMESPACE
