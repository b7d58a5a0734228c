// SPDX-License-Identifier: Apache-2.0
// Kinds whose operands change as they are packed: every narrow number, every layout, and the sums of their tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "cpu/isa.hpp"
#include "cpu/micro/tile.hpp"
#include "emulated_quads.hpp"

namespace exactile::cpu {
namespace {

/// check(kernels) for each of this machine's narrow kinds.
template <class Check>
void for_each_widening(const Check& check) {
#if defined(__x86_64__)
  if (widest_isa() >= Isa::avx2) {
    check(avx2_bf16());
    check(avx2_f16());
    check(avx2_f8e4m3());
    check(avx2_f8e5m2());
  }
  if (widest_isa() >= Isa::avx512) {
    check(avx512_bf16());
    check(avx512_f16());
    check(avx512_f8e4m3());
    check(avx512_f8e5m2());
  }
#elif defined(__aarch64__)
  if (widest_isa() >= Isa::neon) {
    check(neon_bf16());
    check(neon_f16());
    check(neon_f8e4m3());
    check(neon_f8e5m2());
  }
#endif
}

/// check(kernels, A(), B()) for each sign that bytes may have.
template <class Kernels, class Check>
void for_each_sign(Kernels kernels, const Check& check) {
  using enum ElementType;
  check(kernels(i8, i8), std::int8_t(), std::int8_t());
  check(kernels(i8, u8), std::int8_t(), std::uint8_t());
  check(kernels(u8, i8), std::uint8_t(), std::int8_t());
  check(kernels(u8, u8), std::uint8_t(), std::uint8_t());
}

/// check(kernels, A(), B()) for each of this machine's kinds of bytes. Quads are emulated where there are none.
template <class Check>
void for_each_byte_kernel(const Check& check) {
#if defined(__x86_64__)
  if (widest_isa() >= Isa::avx2) for_each_sign(avx2_bytes, check);
  if (widest_isa() >= Isa::avx2) for_each_sign(test::emulated_quads, check);
  if (widest_isa() >= Isa::avx512) for_each_sign(avx512_bytes, check);
  if (widest_isa() >= Isa::avx512_vnni) for_each_sign(avx512_vnni_bytes, check);
#elif defined(__aarch64__)
  if (widest_isa() >= Isa::neon) for_each_sign(neon_bytes, check);
#endif
}

template <class Check>
void for_each_grouping(const Check& check) {
  for_each_byte_kernel(check);
  const auto check_alike = [&]<class K>(const MicroKernels<K>& kernels) { check(kernels, Input<K>(), Input<K>()); };
#if defined(__x86_64__)
  if (widest_isa() >= Isa::avx2) check_alike(avx2_i16());
  if (widest_isa() >= Isa::avx2) check_alike(avx2_i32_wide());
  if (widest_isa() >= Isa::avx512) check_alike(avx512_i16());
  if (widest_isa() >= Isa::avx512) check_alike(avx512_i32_wide());
  if (widest_isa() >= Isa::avx512_vnni) check_alike(avx512_vnni_i16());
  if (widest_isa() >= Isa::avx512_bf16) check_alike(avx512_bf16_pairs());
#elif defined(__aarch64__)
  if (widest_isa() >= Isa::neon) check_alike(neon_i16());
  if (widest_isa() >= Isa::neon) check_alike(neon_i32_wide());
#endif
}

template <class Narrow>
std::vector<Narrow> all_codes() {
  using Bits = decltype(Narrow::bits);
  std::vector<Narrow> codes(std::size_t{std::numeric_limits<Bits>::max()} + 1);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i].bits = static_cast<Bits>(i);
  return codes;
}

bool is_same_number(float x, float y) {
  return std::isnan(x) ? std::isnan(y) : std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
}

/// Every code, as a row of neighbours and as terms of a lane; pairs may have changed places.
template <class Narrow>
void expect_exact_numbers(const MicroKernels<Widened<Narrow>>& kernels) {
  const std::vector<Narrow> codes = all_codes<Narrow>();
  const auto count = static_cast<std::int64_t>(codes.size());
  std::vector<float> packed(codes.size());
  kernels.pack_b(codes.data(), 1, count, count, count, 1, packed.data());
  for (std::size_t i = 0; i < codes.size(); ++i)
    ASSERT_TRUE(is_same_number(packed[i], static_cast<float>(codes[i]))) << "code " << i << " as a lane: " << packed[i];
  kernels.pack_b(codes.data(), count, 1, 1, 1, count, packed.data());
  const std::size_t exchange = std::is_same_v<Narrow, BFloat16> ? 1 : 0;
  for (std::size_t i = 0; i < codes.size(); ++i)
    ASSERT_TRUE(is_same_number(packed[i ^ exchange], static_cast<float>(codes[i])))
        << "code " << i << " as a term: " << packed[i ^ exchange];
}

TEST(NarrowKernels, EveryNumberIsExact) {
  for_each_widening([](const auto& kernels) { expect_exact_numbers(kernels); });
}

template <class T>
std::vector<T> numbers(std::size_t count, std::mt19937& random, T) {
  std::vector<T> all(count);
  for (auto& x : all) x = static_cast<T>(random());
  return all;
}
std::vector<BFloat16> numbers(std::size_t count, std::mt19937& random, BFloat16) {
  std::normal_distribution<float> normal;
  std::vector<BFloat16> all(count);
  for (auto& x : all) x = BFloat16(normal(random));
  return all;
}

/// The sums as they are defined: exact, or odd terms before even ones, a rounding each.
template <class Sum, class A, class B, class In>
Sum sum_of(const std::vector<In>& a, const std::vector<In>& b) {
  std::uint64_t sum = 0;
  for (std::size_t p = 0; p < a.size(); ++p)
    sum += static_cast<std::uint64_t>(static_cast<A>(a[p])) * static_cast<std::uint64_t>(static_cast<B>(b[p]));
  return static_cast<Sum>(sum);
}
template <>
float sum_of<float, BFloat16, BFloat16>(const std::vector<BFloat16>& a, const std::vector<BFloat16>& b) {
  float sum = 0;
  for (std::size_t p = 0; p < a.size(); ++p) {
    const std::size_t q = (p ^ 1) < a.size() ? p ^ 1 : p;
    sum = std::fma(static_cast<float>(a[q]), static_cast<float>(b[q]), sum);
  }
  return sum;
}

/// A matrix of rows whose elements lie so far apart.
struct Lie {
  std::int64_t row;
  std::int64_t column;
};

/// A tile of random operands, packed from where they lie and multiplied.
template <class A, class B, class K>
void expect_sums(const MicroKernels<K>& kernels, int rows, std::int64_t columns, std::int64_t k, Lie of_a, Lie of_b,
                 std::mt19937& random) {
  using In = Input<K>;
  const int vectors = static_cast<int>((columns + kernels.lanes - 1) / kernels.lanes);
  const std::int64_t width = std::int64_t{vectors} * kernels.lanes;
  const auto a = numbers(static_cast<std::size_t>((rows - 1) * of_a.row + (k - 1) * of_a.column + 1), random, In());
  const auto b = numbers(static_cast<std::size_t>((k - 1) * of_b.row + (columns - 1) * of_b.column + 1), random, In());
  std::vector<Lane<K>> packed_a(static_cast<std::size_t>(rows * packed_lanes<K>(k)));
  std::vector<Lane<K>> packed_b(static_cast<std::size_t>(width * packed_lanes<K>(k)));
  kernels.pack_a(a.data(), of_a.row, of_a.column, rows, rows, k, packed_a.data());
  kernels.pack_b(b.data(), of_b.column, of_b.row, columns, width, k, packed_b.data());
  std::vector<Sum<K>> c(static_cast<std::size_t>(rows * columns), Sum<K>(5));
  const std::int64_t last = columns - (vectors - 1) * kernels.lanes;
  kernels.tile(AOrder::columns, rows, vectors, last != kernels.lanes)(
      {rows, width, columns, lanes_of<K>(k), last}, packed_a.data(), packed_b.data(), c.data(), Sum<K>(1), Sum<K>(0));
  if (of_a.column == 1) {
    const std::int64_t stride = lanes_of<K>(k) + 5;
    constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(Lane<K>));  // the last row may end within one
    std::vector<Lane<K>> copied(static_cast<std::size_t>(rows * stride + line));
    for (std::int64_t i = 0; i < rows; ++i) kernels.copy_a(a.data() + i * of_a.row, k, copied.data() + i * stride);
    std::vector<Sum<K>> by_rows(c.size());
    kernels.tile(AOrder::rows, rows, vectors, last != kernels.lanes)({stride, width, columns, lanes_of<K>(k), last},
                                                                     copied.data(), packed_b.data(), by_rows.data(),
                                                                     Sum<K>(1), Sum<K>(0));
    ASSERT_TRUE(by_rows == c) << rows << " x " << columns << " x " << k;
  }
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      std::vector<In> row;
      std::vector<In> column;
      for (std::int64_t p = 0; p < k; ++p) {
        row.push_back(a[static_cast<std::size_t>(i * of_a.row + p * of_a.column)]);
        column.push_back(b[static_cast<std::size_t>(p * of_b.row + j * of_b.column)]);
      }
      ASSERT_EQ(c[static_cast<std::size_t>(i * columns + j)], (sum_of<Sum<K>, A, B>(row, column)))
          << rows << " x " << columns << " x " << k << ", element " << i << ", " << j << ", B " << of_b.row << ", "
          << of_b.column;
    }
}

template <class A, class B, class K>
void expect_all_sums(const MicroKernels<K>& kernels) {
  std::mt19937 random(7);
  for (const int rows : {1, 3, kernels.rows - 1, kernels.rows})
    for (const std::int64_t columns :
         {1, kernels.lanes - 1, kernels.lanes, std::min(kernels.lanes + 3, 2 * kernels.lanes - 1), 2 * kernels.lanes})
      for (const std::int64_t k : {1, 2, 3, 4, 5, 31, 64, 67, 130, 259}) {
        expect_sums<A, B>(kernels, rows, columns, k, {k + 1, 1}, {columns + 3, 1}, random);
        expect_sums<A, B>(kernels, rows, columns, k, {1, rows + 1}, {1, k + 2}, random);
        expect_sums<A, B>(kernels, rows, columns, k, {2 * k + 1, 2}, {3, 3 * k}, random);
      }
}

TEST(NarrowKernels, TilesSumAsTheyAreDefined) {
  for_each_grouping([]<class A, class B>(const auto& kernels, A, B) { expect_all_sums<A, B>(kernels); });
#if defined(__x86_64__)
  if (widest_isa() >= Isa::avx2) expect_all_sums<BFloat16, BFloat16>(avx2_bf16());
  if (widest_isa() >= Isa::avx512) expect_all_sums<BFloat16, BFloat16>(avx512_bf16());
#elif defined(__aarch64__)
  if (widest_isa() >= Isa::neon) expect_all_sums<BFloat16, BFloat16>(neon_bf16());
#endif
}

/// Products of the largest magnitude neither saturate nor carry.
template <class A, class B, class K>
void expect_extreme_sums(const MicroKernels<K>& kernels) {
  constexpr std::int64_t k = 1024;
  for (const A a : {std::numeric_limits<A>::min(), std::numeric_limits<A>::max()})
    for (const B b : {std::numeric_limits<B>::min(), std::numeric_limits<B>::max()}) {
      const std::vector<Input<K>> row(k, static_cast<Input<K>>(a));
      const std::vector<Input<K>> column(static_cast<std::size_t>(k * kernels.lanes), static_cast<Input<K>>(b));
      std::vector<Lane<K>> packed_a(static_cast<std::size_t>(packed_lanes<K>(k)));
      std::vector<Lane<K>> packed_b(static_cast<std::size_t>(kernels.lanes * packed_lanes<K>(k)));
      kernels.pack_a(row.data(), k, 1, 1, 1, k, packed_a.data());
      kernels.pack_b(column.data(), 1, kernels.lanes, kernels.lanes, kernels.lanes, k, packed_b.data());
      std::vector<Sum<K>> c(static_cast<std::size_t>(kernels.lanes));
      kernels.tile(AOrder::columns, 1, 1, false)({1, kernels.lanes, kernels.lanes, lanes_of<K>(k), kernels.lanes},
                                                 packed_a.data(), packed_b.data(), c.data(), 1, 0);
      const std::uint64_t due = std::uint64_t{k} * static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
      for (const Sum<K> element : c) EXPECT_EQ(element, static_cast<Sum<K>>(due)) << +a << " * " << +b;
    }
}

TEST(NarrowKernels, IntegersOfTheLargestMagnitudeAreExact) {
  for_each_grouping([]<class A, class B>(const auto& kernels, A, B) {
    if constexpr (std::is_integral_v<A>) expect_extreme_sums<A, B>(kernels);
  });
}

#if defined(__x86_64__)
TEST(NarrowKernels, SmallestMagnitudePassesOverZeros) {
  if (widest_isa() < Isa::avx512) GTEST_SKIP() << why_unavailable(Isa::avx512);
  for (const std::int64_t length : {1, 31, 32, 63, 64, 65, 100})
    for (const std::int64_t gap : {0, 3}) {
      constexpr std::int64_t lines = 3;
      std::vector<BFloat16> all(static_cast<std::size_t>(lines * (length + gap)), BFloat16(-0.0F));
      const auto smallest = [&] { return avx512_smallest_magnitude(all.data(), lines, length + gap, length); };
      EXPECT_EQ(smallest(), no_magnitude);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool is_in_gap = static_cast<std::int64_t>(i) % (length + gap) >= length;
        all[i].bits = 0x8001;
        EXPECT_EQ(smallest() == 1, !is_in_gap) << i << " of lines of " << length << " + " << gap;
        all[i] = BFloat16(-1.0F);
        EXPECT_EQ(smallest(), 0x3f80U);
      }
    }
}
#endif

}  // namespace
}  // namespace exactile::cpu
