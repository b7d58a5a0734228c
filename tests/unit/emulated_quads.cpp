// SPDX-License-Identifier: Apache-2.0
// Compiled with AVX2's flags, and called only after isa.cpp found it.
#include "emulated_quads.hpp"

#include "cpu/micro/highway_narrow_kernels.hpp"

namespace exactile::cpu {
namespace HWY_NAMESPACE {

template <>
struct MultiplyAdd<EmulatedQuads> {
  /// Byte after byte: `a` without a sign, `b` with one.
  static HWY_INLINE void into(Vector<std::int32_t>& sum, Vector<std::int32_t> a, Vector<std::int32_t> b) {
    const Lanes<std::int32_t> d;
    const auto add = [&](Vector<std::int32_t> x, Vector<std::int32_t> y) {
      const auto factor = hn::And(x, hn::Set(d, 0xff));
      sum = hn::Add(sum, hn::Mul(factor, hn::ShiftRight<24>(hn::ShiftLeft<24>(y))));
    };
    add(a, b);
    add(hn::ShiftRight<8>(a), hn::ShiftRight<8>(b));
    add(hn::ShiftRight<16>(a), hn::ShiftRight<16>(b));
    add(hn::ShiftRight<24>(a), hn::ShiftRight<24>(b));
  }
};

template <class Number, class Other>
struct Groups<EmulatedQuads, Number, Other> : MovedQuads<EmulatedQuads, Number, Other> {};

}  // namespace HWY_NAMESPACE

namespace test {

const MicroKernels<EmulatedQuads>& emulated_quads(ElementType a, ElementType b) {
  return HWY_NAMESPACE::byte_kernels<EmulatedQuads, 12>(a, b);
}

}  // namespace test
}  // namespace exactile::cpu
