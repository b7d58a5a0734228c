// SPDX-License-Identifier: Apache-2.0
/// \file Registers of f64 for tile.hpp.
#pragma once

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
};

}  // namespace exactile::cpu::HWY_NAMESPACE
