// SPDX-License-Identifier: Apache-2.0
// Compiled with this instruction set's flags, and called only after isa.cpp found it.
#include "cpu/micro/highway_magnitude.hpp"
#include "cpu/micro/highway_narrow_kernels.hpp"
#include "cpu/micro/highway_round.hpp"

namespace exactile::cpu {

const MicroKernels<Widened<BFloat16>>& avx512_bf16() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<BFloat16>>(avx512_f32());
  return table;
}
const MicroKernels<Widened<Float16>>& avx512_f16() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<Float16>>(avx512_f32());
  return table;
}
const MicroKernels<Widened<Float8E4M3>>& avx512_f8e4m3() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<Float8E4M3>>(avx512_f32());
  return table;
}
const MicroKernels<Widened<Float8E5M2>>& avx512_f8e5m2() {
  static const auto table = HWY_NAMESPACE::kernels_with_tiles_of<Widened<Float8E5M2>>(avx512_f32());
  return table;
}

// 32 registers: 24 sums, 2 of B, 1 of A, 1 of products.
const MicroKernels<I8Pairs>& avx512_bytes(ElementType a, ElementType b) {
  return HWY_NAMESPACE::byte_kernels<I8Pairs, 24, 2>(a, b);
}
const MicroKernels<I16Pairs>& avx512_i16() {
  static const auto table =
      HWY_NAMESPACE::kernels_with_tiles_of<I16Pairs>(avx512_bytes(ElementType::i8, ElementType::i8));
  return table;
}
const MicroKernels<I32Wide>& avx512_i32_wide() { return HWY_NAMESPACE::packed_kernels<I32Wide, 24, 2>(); }

// Their instructions are assembly; who calls them asks isa.cpp for more than AVX-512.
const MicroKernels<Bf16Pairs>& avx512_bf16_pairs() { return HWY_NAMESPACE::packed_kernels<Bf16Pairs, 24>(); }
const MicroKernels<I8Quads>& avx512_vnni_bytes(ElementType a, ElementType b) {
  return HWY_NAMESPACE::byte_kernels<I8Quads, 24>(a, b);
}
const MicroKernels<I16Pairs>& avx512_vnni_i16() { return HWY_NAMESPACE::packed_kernels<I16Pairs, 24>(); }

std::uint32_t avx512_smallest_magnitude(const BFloat16* numbers, std::int64_t lines, std::int64_t line_stride,
                                        std::int64_t length) {
  return HWY_NAMESPACE::smallest_magnitude(numbers, lines, line_stride, length);
}

void avx512_round(const float* from, std::int64_t count, BFloat16* to) { HWY_NAMESPACE::round_row(from, count, to); }
void avx512_round(const float* from, std::int64_t count, Float16* to) { HWY_NAMESPACE::round_row(from, count, to); }

}  // namespace exactile::cpu
