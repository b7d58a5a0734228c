// SPDX-License-Identifier: Apache-2.0
// The micro-kernel on tile registers, on any machine: registers in plain C++ as Intel's manual defines them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "core/arithmetic.hpp"
#include "cpu/micro/amx_tile.hpp"

namespace exactile::cpu {
namespace {

/// Rows as configured; what is loaded before any are, or while other rows are, fails the test.
template <class K>
struct Emulated {
  using Sum = cpu::Sum<K>;
  using Word = std::uint32_t;
  static inline Word tiles[8][16][16];
  static inline int rows_of[8];
  static inline int configured = 0;

  static void release() {
    configured = 0;
    std::ranges::fill(rows_of, 0);
  }
  static void configure(int height) {
    const int above = std::min(height, 16);
    const int heights[] = {above, above, height - above, height - above, above, height - above, 16, 16};
    for (int t = 0; t < 8; ++t) {
      rows_of[t] = heights[t];
      for (auto& row : tiles[t])
        for (Word& word : row) word = 0x7fc00001;  // nothing may be taken for zero that was not set
    }
    configured = height;
  }
  template <int Tile>
  static void zero() {
    for (int i = 0; i < rows_of[Tile]; ++i)
      for (Word& word : tiles[Tile][i]) word = 0;
  }
  template <int Tile, class T>
  static void load(const T* from, std::int64_t stride) {
    EXPECT_GT(rows_of[Tile], 0);
    for (int i = 0; i < rows_of[Tile]; ++i)
      for (int l = 0; l < 16; ++l) tiles[Tile][i][l] = std::bit_cast<Word>(from[i * stride + l]);
  }
  template <int Tile, class T>
  static void load_passing(const T* from, std::int64_t stride) {
    load<Tile>(from, stride);
  }
  template <int Tile, class T>
  static void store(T* to, std::int64_t stride) {
    for (int i = 0; i < rows_of[Tile]; ++i)
      for (int l = 0; l < 16; ++l) to[i * stride + l] = std::bit_cast<T>(tiles[Tile][i][l]);
  }
  template <int Sums, int A, int B>
  static void multiply() {
    for (int i = 0; i < rows_of[Sums]; ++i)
      for (int j = 0; j < 16; ++j) tiles[Sums][i][j] = add_row(tiles[Sums][i][j], tiles[A][i], tiles[B], j);
  }
  static void add_sums(const Sum* sums, Sum* c, std::int64_t columns, Sum alpha, Sum beta) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const Sum before = beta == Sum(0) ? Sum(0) : core::multiply(beta, c[j]);
      c[j] = core::multiply_add(alpha, sums[j], before);
    }
  }

 private:
  static Word add_row(Word sum, const Word (&a)[16], const Word (&b)[16][16], int j) {
    if constexpr (std::is_same_v<K, I8Tiles>) {
      for (int g = 0; g < 16; ++g)
        for (int q = 0; q < 4; ++q)
          sum += static_cast<Word>(static_cast<std::int8_t>(a[g] >> (8 * q)) *
                                   static_cast<std::int8_t>(b[g][j] >> (8 * q)));
      return sum;
    } else {
      float even = 0;
      float odd = 0;
      for (int g = 0; g < 16; ++g) {
        even = std::fma(std::bit_cast<float>(a[g] << 16), std::bit_cast<float>(b[g][j] << 16), even);
        odd = std::fma(std::bit_cast<float>(a[g] & 0xffff0000U), std::bit_cast<float>(b[g][j] & 0xffff0000U), odd);
      }
      return std::bit_cast<Word>(std::bit_cast<float>(sum) + (even + odd));
    }
  }
};

/// Rows of A and columns of B as lanes, which are any bits of i8 and small numbers of bf16.
template <class K>
std::vector<Lane<K>> lanes_by_lot(std::size_t count, std::mt19937& random) {
  std::vector<Lane<K>> lanes(count);
  for (Lane<K>& lane : lanes) {
    std::uint32_t bits = static_cast<std::uint32_t>(random());
    if constexpr (std::is_same_v<K, Bf16Tiles>) bits = (bits & 0x807f807fU) | 0x3f803f80U;
    lane = std::bit_cast<Lane<K>>(bits);
  }
  return lanes;
}

/// The sum of one element, from its definition in micro/amx.hpp.
std::int32_t sum_of(const std::int32_t* a, const std::int32_t* b, std::int64_t b_stride, std::int64_t groups) {
  std::uint32_t sum = 0;
  for (std::int64_t g = 0; g < groups; ++g)
    for (int q = 0; q < 4; ++q)
      sum += static_cast<std::uint32_t>(static_cast<std::int8_t>(a[g] >> (8 * q)) *
                                        static_cast<std::int8_t>(b[g * b_stride] >> (8 * q)));
  return static_cast<std::int32_t>(sum);
}
float sum_of(const float* a, const float* b, std::int64_t b_stride, std::int64_t groups) {
  float sum = 0;
  for (std::int64_t first = 0; first < groups; first += 16) {
    float parts[2] = {0, 0};
    for (std::int64_t g = first; g < std::min(first + 16, groups); ++g)
      for (int part = 0; part < 2; ++part) {
        const auto term = [&](float lane) {
          return std::bit_cast<float>(std::bit_cast<std::uint32_t>(lane) >> (16 * part) << 16);
        };
        parts[part] = std::fma(term(a[g]), term(b[g * b_stride]), parts[part]);
      }
    sum += parts[0] + parts[1];
  }
  return sum;
}

template <class K>
void expect_sums(AOrder order, int height, int vectors, std::int64_t last, std::int64_t groups, Sum<K> alpha,
                 Sum<K> beta) {
  std::mt19937 random(static_cast<unsigned>(height * 1000 + groups));
  const std::int64_t a_stride = order == AOrder::rows ? groups + 3 : groups;
  const std::int64_t width = vectors * 16;
  const std::int64_t columns = width - 16 + last;
  const std::int64_t c_stride = width + 5;
  const auto a = lanes_by_lot<K>(static_cast<std::size_t>(height * a_stride), random);
  const auto b = lanes_by_lot<K>(static_cast<std::size_t>(groups * width), random);
  std::vector<Sum<K>> c(static_cast<std::size_t>(height * c_stride));
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<Sum<K>>(static_cast<int>(i % 17) - 8);
  const std::vector<Sum<K>> before = c;
  const TileShape shape{order == AOrder::rows ? a_stride : height, width, c_stride, groups, last};
  Emulated<K>::release();
  amx::Kernels<K, Emulated<K>>::tile(order, height, vectors, last != 16)(shape, a.data(), b.data(), c.data(), alpha,
                                                                         beta);
  EXPECT_EQ(Emulated<K>::configured, height);
  for (std::int64_t i = 0; i < height; ++i)
    for (std::int64_t j = 0; j < c_stride; ++j) {
      const auto at = static_cast<std::size_t>(i * c_stride + j);
      Sum<K> expected = before[at];
      if (j < columns) {
        const Sum<K> sum = sum_of(a.data() + i * a_stride, b.data() + j, width, groups);
        expected = core::multiply_add(alpha, sum, beta == Sum<K>(0) ? Sum<K>(0) : core::multiply(beta, before[at]));
      }
      ASSERT_EQ(c[at], expected) << "height " << height << " vectors " << vectors << " groups " << groups << " at " << i
                                 << ", " << j;
    }
}

template <class K>
void expect_all_sums() {
  for (const AOrder order : {AOrder::rows, AOrder::columns})
    for (const int height : {1, 2, 15, 16, 17, 31, 32})
      for (const int vectors : {1, 2})
        for (const std::int64_t last : {1, 15, 16})
          for (const std::int64_t groups : {1, 15, 16, 17, 48, 255}) {
            expect_sums<K>(order, height, vectors, last, groups, Sum<K>(1), Sum<K>(0));
            expect_sums<K>(order, height, vectors, last, groups, Sum<K>(1), Sum<K>(1));
            expect_sums<K>(order, height, vectors, last, groups, Sum<K>(3), Sum<K>(-2));
          }
}

TEST(AmxTile, SumsOfIntegersAreExact) { expect_all_sums<I8Tiles>(); }
TEST(AmxTile, SumsOfBf16HaveTheirOrder) { expect_all_sums<Bf16Tiles>(); }

}  // namespace
}  // namespace exactile::cpu
