// SPDX-License-Identifier: Apache-2.0
// Every AArch64 processor has these instructions.
#include "cpu/micro/highway_narrow_kernels.hpp"
#include "cpu/micro/highway_round.hpp"

namespace exactile::cpu {

const MicroKernels<Widened<BFloat16>>& neon_bf16() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<BFloat16>>(neon_f32());
  return table;
}
const MicroKernels<Widened<Float16>>& neon_f16() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<Float16>>(neon_f32());
  return table;
}
const MicroKernels<Widened<Float8E4M3>>& neon_f8e4m3() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<Float8E4M3>>(neon_f32());
  return table;
}
const MicroKernels<Widened<Float8E5M2>>& neon_f8e5m2() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<Float8E5M2>>(neon_f32());
  return table;
}

// 32 registers: 24 sums, 4 of B by terms, 2 of A.
const MicroKernels<I8Pairs>& neon_bytes(ElementType a, ElementType b) {
  return HWY_NAMESPACE::byte_kernels<I8Pairs, 24, 3>(a, b);
}
const MicroKernels<I16Pairs>& neon_i16() {
  static const auto table =
      HWY_NAMESPACE::kernels_with_tiles_of<I16Pairs>(neon_bytes(ElementType::i8, ElementType::i8));
  return table;
}
const MicroKernels<I32Wide>& neon_i32_wide() { return HWY_NAMESPACE::packed_kernels<I32Wide, 24, 2>(); }

void neon_round(const float* from, std::int64_t count, BFloat16* to) { HWY_NAMESPACE::round_row(from, count, to); }
void neon_round(const float* from, std::int64_t count, Float16* to) { HWY_NAMESPACE::round_row(from, count, to); }

}  // namespace exactile::cpu
