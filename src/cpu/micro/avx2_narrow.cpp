// SPDX-License-Identifier: Apache-2.0
// Compiled with this instruction set's flags, and called only after isa.cpp found it.
#include "cpu/micro/highway_narrow_kernels.hpp"
#include "cpu/micro/highway_round.hpp"

namespace exactile::cpu {

const MicroKernels<Widened<BFloat16>>& avx2_bf16() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<BFloat16>>(avx2_f32());
  return table;
}
const MicroKernels<Widened<Float16>>& avx2_f16() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<Float16>>(avx2_f32());
  return table;
}
const MicroKernels<Widened<Float8E4M3>>& avx2_f8e4m3() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<Float8E4M3>>(avx2_f32());
  return table;
}
const MicroKernels<Widened<Float8E5M2>>& avx2_f8e5m2() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<Float8E5M2>>(avx2_f32());
  return table;
}

// 16 registers: 12 sums, 2 of B, 1 of A, 1 of products.
const MicroKernels<I8Pairs>& avx2_bytes(ElementType a, ElementType b) {
  return HWY_NAMESPACE::byte_kernels<I8Pairs, 12, 2>(a, b);
}
const MicroKernels<I16Pairs>& avx2_i16() {
  static const auto table =
      HWY_NAMESPACE::kernels_with_tiles_of<I16Pairs>(avx2_bytes(ElementType::i8, ElementType::i8));
  return table;
}
const MicroKernels<I32Wide>& avx2_i32_wide() { return HWY_NAMESPACE::packed_kernels<I32Wide, 12, 2>(); }

void avx2_round(const float* from, std::int64_t count, BFloat16* to) { HWY_NAMESPACE::round_row(from, count, to); }
void avx2_round(const float* from, std::int64_t count, Float16* to) { HWY_NAMESPACE::round_row(from, count, to); }

}  // namespace exactile::cpu
