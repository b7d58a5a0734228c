// SPDX-License-Identifier: Apache-2.0
/// \file
/// The micro-kernel on tile registers: 32 x 32 sums in four tiles of 16 x 16, two tiles of A and two of B for each 16
/// groups of terms. `Tiles` is the registers, of a processor with AMX or a stand-in for them:
///
///     configure(rows)          tiles 0 to 3: sums, two above two; 4 and 5: A, above and below; 6 and 7: B. It takes a
///                              fifth of a chunk's time, so they stay until other rows are asked for
///     zero<t>(), load<t>(from, stride), store<t>(to, stride), multiply<sums, a, b>()
///     load_passing<t>(from, stride)               of what need not stay in L1
///     add_sums(sums, c, columns, alpha, beta)     as in MicroKernels
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cpu/micro/amx.hpp"

namespace exactile::cpu::amx {

inline constexpr int side = 16;         ///< rows of a tile, and lanes of a row
inline constexpr int rows = 2 * side;   ///< of the micro-kernel
inline constexpr int lanes = 2 * side;  ///< columns of it

/// A lane of an A in place, which may lie anywhere.
template <class Lane>
[[nodiscard]] Lane lane_at(const Lane* from) {
  Lane lane;
  std::memcpy(&lane, static_cast<const void*>(from), sizeof lane);
  return lane;
}

/// Sixteen groups of terms of A and B: as they lie, or what is left of them with zeros behind it.
template <class Lane>
struct Step {
  const Lane* a;
  std::int64_t a_stride;
  const Lane* b;
  std::int64_t b_stride;
};

template <class K, class Tiles>
class TileOfC {
 public:
  using Lane = cpu::Lane<K>;
  using Sum = cpu::Sum<K>;

  TileOfC(int height, int vectors) : height_(height), vectors_(vectors) {}

  void zero() const {
    Tiles::template zero<0>();
    Tiles::template zero<1>();
    if (height_ <= side) return;
    Tiles::template zero<2>();
    Tiles::template zero<3>();
  }

  /// `Passing`: B would push A out of L1.
  template <bool Passing>
  void multiply(const Step<Lane>& step) const {
    const auto load_b = [&]<int Tile>(std::integral_constant<int, Tile>, const Lane* b) {
      if constexpr (Passing)
        Tiles::template load_passing<Tile>(b, step.b_stride);
      else
        Tiles::template load<Tile>(b, step.b_stride);
    };
    Tiles::template load<4>(step.a, step.a_stride);
    load_b(std::integral_constant<int, 6>(), step.b);
    Tiles::template multiply<0, 4, 6>();
    if (vectors_ == 2) {
      load_b(std::integral_constant<int, 7>(), step.b + side);
      Tiles::template multiply<1, 4, 7>();
    }
    if (height_ <= side) return;
    Tiles::template load<5>(step.a + side * step.a_stride, step.a_stride);
    Tiles::template multiply<2, 5, 6>();
    if (vectors_ == 2) Tiles::template multiply<3, 5, 7>();
  }

  /// The last groups: fewer than a tile's rows of B.
  void multiply_rest(const Lane* a, std::int64_t a_stride, const Lane* b, std::int64_t b_stride,
                     std::int64_t groups) const {
    alignas(64) Lane some_a[rows * side] = {};
    alignas(64) Lane some_b[side * lanes] = {};
    for (int i = 0; i < height_; ++i)
      for (std::int64_t g = 0; g < groups; ++g) some_a[i * side + g] = lane_at(a + i * a_stride + g);
    for (std::int64_t g = 0; g < groups; ++g)
      for (int l = 0; l < vectors_ * side; ++l) some_b[g * lanes + l] = b[g * b_stride + l];
    multiply<false>({some_a, side, some_b, lanes});
  }

  /// Into C itself, whole vectors of it.
  void load(const Sum* c, std::int64_t stride) const {
    Tiles::template load<0>(c, stride);
    if (vectors_ == 2) Tiles::template load<1>(c + side, stride);
    if (height_ <= side) return;
    Tiles::template load<2>(c + side * stride, stride);
    if (vectors_ == 2) Tiles::template load<3>(c + side * stride + side, stride);
  }
  void store(Sum* c, std::int64_t stride) const {
    Tiles::template store<0>(c, stride);
    if (vectors_ == 2) Tiles::template store<1>(c + side, stride);
    if (height_ <= side) return;
    Tiles::template store<2>(c + side * stride, stride);
    if (vectors_ == 2) Tiles::template store<3>(c + side * stride + side, stride);
  }

 private:
  int height_;
  int vectors_;
};

/// Asks for a line of each of the next tile's rows of A, which L2 has room for, and for this tile's rows of C, some
/// with each step.
template <class Sum>
void ask_at(std::int64_t step, const Ahead<Sum>& ahead) {
  const char* line = static_cast<const char*>(ahead.a) + 64 * step;
  for (int i = 0; i < ahead.a_rows; ++i, line += ahead.a_stride) __builtin_prefetch(line, 0, 2);
  constexpr std::int64_t rows_a_step = 2;
  const std::int64_t end = std::min<std::int64_t>((step + 1) * rows_a_step, ahead.line_rows);
  for (std::int64_t i = step * rows_a_step; i < end; ++i) {
    const Sum* const row = ahead.lines + i * ahead.line_stride;
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + side, 1);
    __builtin_prefetch(row + lanes - 1, 1);  // rows that start within a line end in one more
  }
}

/// A lies by rows, `a_stride` lanes apart, in either AOrder.
template <class K, class Tiles>
[[gnu::noinline]] void multiply_tile(int height, int vectors, const TileShape& shape, std::int64_t a_stride,
                                     const Lane<K>* a, const Lane<K>* b, Sum<K>* c, Sum<K> alpha, Sum<K> beta,
                                     const Ahead<Sum<K>>& ahead) {
  Tiles::configure(height);
  const TileOfC<K, Tiles> tile(height, vectors);
  const std::int64_t columns = (vectors - 1) * side + shape.last_lanes;
  // Integers are exact in any order, so their sums may go on from C's.
  const bool in_c = columns == vectors * side && alpha == Sum<K>(1) &&
                    (beta == Sum<K>(0) || (std::is_integral_v<Sum<K>> && beta == Sum<K>(1)));
  if (in_c && beta == Sum<K>(1))
    tile.load(c, shape.c_stride);
  else
    tile.zero();
  // L1 has room for so many bytes of the tiles' A and B, as much again of a next B, and C.
  constexpr std::int64_t most_near = 32 << 10;
  const bool passing = shape.k * (rows + lanes) * static_cast<std::int64_t>(sizeof(Lane<K>)) > most_near;
  std::int64_t g = 0;
  for (; g + side <= shape.k; g += side) {
    ask_at(g / side, ahead);
    const Step<Lane<K>> step{a + g, a_stride, b + g * shape.b_stride, shape.b_stride};
    if (passing)
      tile.template multiply<true>(step);
    else
      tile.template multiply<false>(step);
  }
  if (g < shape.k) tile.multiply_rest(a + g, a_stride, b + g * shape.b_stride, shape.b_stride, shape.k - g);
  if (in_c) {
    tile.store(c, shape.c_stride);
  } else {
    alignas(64) Sum<K> sums[rows * lanes];
    tile.store(sums, lanes);
    for (int i = 0; i < height; ++i) Tiles::add_sums(sums + i * lanes, c + i * shape.c_stride, columns, alpha, beta);
  }
}

/// Micro-kernels by height, as MicroKernels finds them. A panel that pack_rows_of_a() packed has its rows shape.k lanes
/// apart.
template <class K, class Tiles>
struct Kernels {
  using Table = MicroKernels<K>;

  template <AOrder Order, int Height, int Vectors>
  static void kernel(const TileShape& shape, const Lane<K>* a, const Lane<K>* b, Sum<K>* c, Sum<K> alpha, Sum<K> beta) {
    asking<Order, Height, Vectors>(shape, a, b, c, alpha, beta, {nullptr, 0, 0, nullptr, 0, 0});
  }
  template <AOrder Order, int Height, int Vectors>
  static void asking(const TileShape& shape, const Lane<K>* a, const Lane<K>* b, Sum<K>* c, Sum<K> alpha, Sum<K> beta,
                     const Ahead<Sum<K>>& ahead) {
    multiply_tile<K, Tiles>(Height, Vectors, shape, Order == AOrder::rows ? shape.a_stride : shape.k, a, b, c, alpha,
                            beta, ahead);
  }

  template <AOrder Order, int Vectors, int... Below>
  static constexpr auto tiles_of(std::integer_sequence<int, Below...>) {
    return std::array<typename Table::Kernel, rows>{&kernel<Order, Below + 1, Vectors>...};
  }
  template <AOrder Order, int... Below>
  static constexpr auto asking_of(std::integer_sequence<int, Below...>) {
    return std::array<typename Table::AskingKernel, rows>{&asking<Order, Below + 1, 2>...};
  }

  static typename Table::Kernel tile(AOrder order, int height, int vectors, bool) {
    using Heights = std::make_integer_sequence<int, rows>;
    static constexpr std::array by_rows{tiles_of<AOrder::rows, 1>(Heights()), tiles_of<AOrder::rows, 2>(Heights())};
    static constexpr std::array by_columns{tiles_of<AOrder::columns, 1>(Heights()),
                                           tiles_of<AOrder::columns, 2>(Heights())};
    const auto& table = order == AOrder::rows ? by_rows : by_columns;
    return table[static_cast<std::size_t>(vectors - 1)][static_cast<std::size_t>(height - 1)];
  }
  static typename Table::AskingKernel asking_tile(AOrder order, int height, int) {
    using Heights = std::make_integer_sequence<int, rows>;
    static constexpr std::array table{asking_of<AOrder::rows>(Heights()), asking_of<AOrder::columns>(Heights())};
    return table[order == AOrder::rows ? 0 : 1][static_cast<std::size_t>(height - 1)];
  }
};

}  // namespace exactile::cpu::amx
