// SPDX-License-Identifier: Apache-2.0
// Every micro-kernel leaves the same bits: a processor is given only some of them, so here they are called by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "cpu/isa.hpp"
#include "cpu/micro/tile.hpp"

namespace exactile::cpu {
namespace {

/// A tile of C, computed by a kernel from operands with room around them.
template <class T>
class Tile {
 public:
  Tile(int rows, std::int64_t columns, std::int64_t k, std::int64_t last_lanes)
      : shape_{k + 3, columns + 5, columns + 2, k, last_lanes},
        a_(numbers(rows * shape_.a_stride)),
        b_(numbers((k + 1) * shape_.b_stride)),
        c_(numbers(rows * shape_.c_stride)) {}

  [[nodiscard]] std::vector<T> run(typename MicroKernels<T>::Kernel kernel, T beta) const {
    std::vector<T> c = c_;
    kernel(shape_, a_.data(), b_.data(), c.data(), T(0.75), beta);
    return c;
  }

 private:
  static std::vector<T> numbers(std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    std::uint32_t state = 1;
    for (T& value : values) {
      state = state * 1664525 + 1013904223;
      value = T(state >> 8) / T(1 << 23) - T(1);
    }
    return values;
  }

  TileShape shape_;
  std::vector<T> a_;
  std::vector<T> b_;
  std::vector<T> c_;
};

template <class T>
void expect_same_bits(const MicroKernels<T>& kernels) {
  for (int rows = 1; rows <= kernels.rows_of(1); ++rows)
    for (const std::int64_t k : {0, 1, 3, 4, 5, 8, 18})
      for (const std::int64_t lanes : {kernels.lanes, kernels.lanes - 1, 1}) {
        const bool masked = lanes != kernels.lanes;
        const Tile<T> tile(rows, lanes, k, lanes);
        for (const T beta : {T(0), T(0.5)})
          EXPECT_EQ(tile.run(kernels.row_tile(rows, masked), beta),
                    tile.run(kernels.tile(AOrder::rows, rows, 1, masked), beta))
              << rows << " rows, " << lanes << " columns, " << k << " terms, beta " << beta;
      }
}

TEST(Tiles, RowAfterRowIsTermAfterTerm) {
  if (widest_isa() < Isa::avx512) GTEST_SKIP() << why_unavailable(Isa::avx512);
  expect_same_bits(avx512_f32());
  expect_same_bits(avx512_f64());
}

}  // namespace
}  // namespace exactile::cpu
