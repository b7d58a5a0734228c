// SPDX-License-Identifier: Apache-2.0
// Tiles of every form leave the same bits: a processor is given only some of them, so here they are called by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
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
  /// The same by tiles of one vector, side by side.
  [[nodiscard]] std::vector<T> run_by_vectors(const MicroKernels<T>& kernels, int rows, int vectors, T beta) const {
    std::vector<T> c = c_;
    for (int v = 0; v < vectors; ++v) {
      TileShape shape = shape_;
      if (v + 1 < vectors) shape.last_lanes = kernels.lanes;
      const std::int64_t column = std::int64_t{v} * kernels.lanes;
      const auto kernel = kernels.tile(AOrder::rows, rows, 1, shape.last_lanes != kernels.lanes);
      kernel(shape, a_.data(), b_.data() + column, c.data() + column, T(0.75), beta);
    }
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
bool have_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Calls `check` for tiles of so many vectors: rows, terms, elements of the last vector, beta.
template <class T, class Check>
void visit_tiles(const MicroKernels<T>& kernels, int vectors, const Check& check) {
  for (int rows = 1; rows <= kernels.rows_of(vectors); ++rows)
    for (const std::int64_t k : {0, 1, 3, 4, 5, 8, 18})
      for (const std::int64_t lanes : {kernels.lanes, kernels.lanes - 1, 1})
        for (const T beta : {T(0), T(0.5)}) check(rows, k, lanes, beta);
}

template <class T>
void expect_row_tiles_to_agree(const MicroKernels<T>& kernels) {
  visit_tiles(kernels, 1, [&](int rows, std::int64_t k, std::int64_t lanes, T beta) {
    const Tile<T> tile(rows, lanes, k, lanes);
    EXPECT_TRUE(have_same_bits(tile.run(kernels.row_tile(rows, lanes != kernels.lanes), beta),
                               tile.run_by_vectors(kernels, rows, 1, beta)))
        << rows << " rows, " << lanes << " columns, " << k << " terms, beta " << beta;
  });
}

template <class T>
void expect_wide_tiles_to_agree(const MicroKernels<T>& kernels) {
  for (int vectors = 2; vectors <= kernels.most_vectors; ++vectors)
    visit_tiles(kernels, vectors, [&](int rows, std::int64_t k, std::int64_t lanes, T beta) {
      const Tile<T> tile(rows, (vectors - 1) * kernels.lanes + lanes, k, lanes);
      EXPECT_TRUE(have_same_bits(tile.run(kernels.tile(AOrder::rows, rows, vectors, lanes != kernels.lanes), beta),
                                 tile.run_by_vectors(kernels, rows, vectors, beta)))
          << rows << " rows, " << vectors << " vectors, the last of " << lanes << ", " << k << " terms, beta " << beta;
    });
}

TEST(Tiles, RowAfterRowIsTermAfterTerm) {
  if (widest_isa() < Isa::avx512) GTEST_SKIP() << why_unavailable(Isa::avx512);
  expect_row_tiles_to_agree(avx512_f32());
  expect_row_tiles_to_agree(avx512_f64());
}

TEST(Tiles, SeveralVectorsAreAsManyTiles) {
  if (widest_isa() >= Isa::avx2) {
    expect_wide_tiles_to_agree(avx2_f32());
    expect_wide_tiles_to_agree(avx2_f64());
  }
  if (widest_isa() < Isa::avx512) GTEST_SKIP() << why_unavailable(Isa::avx512);
  expect_wide_tiles_to_agree(avx512_f32());
  expect_wide_tiles_to_agree(avx512_f64());
}

}  // namespace
}  // namespace exactile::cpu
