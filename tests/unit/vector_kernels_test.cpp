// SPDX-License-Identifier: Apache-2.0
// The sums along lines of both instruction sets, whichever the processor at hand would take: bits are the same for each
// set, and for lines that are read one by one or side by side.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "cpu/isa.hpp"
#include "cpu/micro/vector_kernels.hpp"

namespace exactile::cpu {
namespace {

template <class In>
std::vector<In> some(std::int64_t count, std::uint32_t seed) {
  std::mt19937 dice(seed);
  std::vector<In> elements;
  const auto number = [&] { return static_cast<float>(dice() % 64) / 7.0F - 4.0F; };
  for (std::int64_t i = 0; i < count; ++i)
    if constexpr (core::is_complex_v<In>)
      elements.emplace_back(number(), number());
    else
      elements.push_back(static_cast<In>(number()));
  return elements;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// The sums of lines that lie `terms` + 3 apart, with each of the vectors.
template <class In>
std::vector<Accumulator<In>> along(const VectorKernels<In>& kernels, std::int64_t lines, std::int64_t terms,
                                   int vectors, bool one_by_one) {
  const std::vector<In> w = some<In>(lines * (terms + 3), 1);
  const std::vector<In> x = some<In>(vectors * terms, 2);
  const std::int64_t padded = (terms + held_padding - 1) / held_padding * held_padding;
  const std::int64_t stride = padded * held_lanes<In>;
  std::vector<LaneOf<In>> held(static_cast<std::size_t>(vectors * stride));
  for (int i = 0; i < vectors; ++i) kernels.hold(x.data() + i * terms, 1, terms, held.data() + i * stride);
  const HeldVectors<In> from{held.data(), stride, held.data() + terms / held_padding * held_padding * held_lanes<In>,
                             stride};
  std::vector<Accumulator<In>> sums(static_cast<std::size_t>(lines * vectors));
  kernels.along(w.data(), terms + 3, lines, terms, from, vectors, one_by_one, sums.data());
  return sums;
}

template <class In>
void check_along(const VectorKernels<In>& narrow, const VectorKernels<In>& wide, std::int64_t lines, std::int64_t terms,
                 int vectors) {
  const std::vector<Accumulator<In>> expected = along(narrow, lines, terms, vectors, false);
  const auto check = [&](const VectorKernels<In>& kernels, bool one_by_one) {
    EXPECT_TRUE(same_bits(along(kernels, lines, terms, vectors, one_by_one), expected))
        << to_string(element_type_v<In>) << ", " << lines << " lines of " << terms << ", " << vectors
        << " vectors, one by one: " << one_by_one;
  };
  check(narrow, true);
  check(wide, false);
  check(wide, true);
}

template <class In>
void check_sets(const VectorKernels<In>& narrow, const VectorKernels<In>& wide) {
  for (const std::int64_t terms : {1, 65, 511, 1030, 5003}) {
    for (const std::int64_t lines : {1, 7, 8, 9, 17})
      for (int vectors = 1; vectors <= most_vectors_at_once; ++vectors)
        check_along(narrow, wide, lines, terms, vectors);
    if (narrow.dot == nullptr) continue;
    const std::vector<In> w = some<In>(terms, 3);
    const std::vector<In> x = some<In>(terms, 4);
    EXPECT_TRUE(
        same_bits<Accumulator<In>>({narrow.dot(w.data(), x.data(), terms)}, {wide.dot(w.data(), x.data(), terms)}))
        << to_string(element_type_v<In>) << ", a dot product of " << terms;
  }
}

TEST(VectorKernels, BothSetsLeaveTheSameBits) {
#if defined(__x86_64__)
  if (widest_isa() < Isa::avx512) GTEST_SKIP() << "needs AVX-512";
  check_sets(avx2_vectors<float>(), avx512_vectors<float>());
  check_sets(avx2_vectors<double>(), avx512_vectors<double>());
  check_sets(avx2_vectors<BFloat16>(), avx512_vectors<BFloat16>());
  check_sets(avx2_vectors<Float8E4M3>(), avx512_vectors<Float8E4M3>());
  check_sets(avx2_vectors<std::int8_t>(), avx512_vectors<std::int8_t>());
  check_sets(avx2_vectors<std::int64_t>(), avx512_vectors<std::int64_t>());
  check_sets(avx2_vectors<std::complex<float>>(), avx512_vectors<std::complex<float>>());
#else
  GTEST_SKIP() << "one instruction set";
#endif
}

}  // namespace
}  // namespace exactile::cpu
