// SPDX-License-Identifier: Apache-2.0
// Tiles of every form leave the same bits: a processor is given only some of them, so here they are called by hand.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <ostream>
#include <type_traits>
#include <vector>

#include "cpu/isa.hpp"
#include "cpu/micro/tile.hpp"

namespace exactile::cpu {
namespace {

/// alpha and beta.
template <class T>
struct Factors {
  T alpha;
  T beta;
};

template <class T>
std::ostream& operator<<(std::ostream& out, const Factors<T>& factors) {
  return out << "alpha " << factors.alpha << ", beta " << factors.beta;
}

/// Different for each bit of `state`; of complex types with two different parts.
template <class T>
T number(std::uint32_t state) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::uint64_t{state} * 0x9e3779b97f4a7c15U);
  } else {
    const Number<T> x = Number<T>(state >> 8) / Number<T>(1 << 23) - Number<T>(1);
    if constexpr (parts<T> == 2)
      return T(x, Number<T>(0.25) - x);
    else
      return x;
  }
}

/// Those that updates tell apart, and others.
template <class T>
std::vector<Factors<T>> some_factors() {
  if constexpr (std::is_integral_v<T>) return {{3, 0}, {-3, 5}, {1, 0}, {1, 1}};
  std::vector<Factors<T>> factors{{T(0.75), T(0)}, {T(0.75), T(1)}, {T(0.75), T(0.5)}, {T(1), T(0)},
                                  {T(1), T(-0.0)}, {T(1), T(0.5)},  {T(1), T(1)}};
  if constexpr (parts<T> == 2) factors.push_back({T(Number<T>(0.5), Number<T>(-2)), T(0, Number<T>(1.25))});
  return factors;
}

/// A copy of elements that ends where memory cannot be read: AddressSanitizer does not see the reads of assembly.
template <class T>
class BeforeGuard {
 public:
  explicit BeforeGuard(const std::vector<T>& elements) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = elements.size() * sizeof(T);
    const std::size_t readable = (bytes + page - 1) / page * page;
    size_ = readable + page;
    mapping_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();
    auto* const guard = static_cast<std::byte*>(mapping_) + readable;
    mprotect(guard, page, PROT_NONE);
    first_ = reinterpret_cast<T*>(guard - bytes);
    std::copy(elements.begin(), elements.end(), first_);
  }
  BeforeGuard(const BeforeGuard&) = delete;
  BeforeGuard& operator=(const BeforeGuard&) = delete;
  ~BeforeGuard() { munmap(mapping_, size_); }

  [[nodiscard]] const T* data() const { return first_; }

 private:
  void* mapping_;
  std::size_t size_;
  T* first_;
};

/// A tile of C, computed by a kernel from operands with room around them.
template <class T>
class Tile {
 public:
  Tile(int rows, std::int64_t columns, std::int64_t k, std::int64_t last_lanes)
      : rows_(rows),
        columns_(columns),
        shape_{k + 3, columns + 5, columns + 2, k, last_lanes},
        a_(numbers(rows * shape_.a_stride)),
        b_(numbers((k + 1) * shape_.b_stride)),
        c_(numbers(rows * shape_.c_stride)) {}

  [[nodiscard]] std::vector<T> run(typename MicroKernels<T>::Kernel kernel, Factors<T> factors) const {
    std::vector<T> c = c_;
    kernel(shape_, a_.data(), b_.data(), c.data(), factors.alpha, factors.beta);
    return c;
  }
  /// By a kernel that packs B on the way, with A by rows or by columns; what it packed goes to `packed`.
  [[nodiscard]] std::vector<T> run(typename MicroKernels<T>::PackingKernel kernel, AOrder order, Factors<T> factors,
                                   std::vector<T>& packed) const {
    std::vector<T> c = c_;
    packed.assign(static_cast<std::size_t>(shape_.k * columns_), T(-7));
    kernel(shape_in(order), a_in(order).data(), b_.data(), c.data(), factors.alpha, factors.beta, packed.data());
    return c;
  }
  /// By the same, which is given no place for what it would pack.
  [[nodiscard]] std::vector<T> run_without_place(typename MicroKernels<T>::PackingKernel kernel, AOrder order,
                                                 Factors<T> factors) const {
    std::vector<T> c = c_;
    kernel(shape_in(order), a_in(order).data(), b_.data(), c.data(), factors.alpha, factors.beta, nullptr);
    return c;
  }
  /// By a kernel that asks for what comes next.
  [[nodiscard]] std::vector<T> run(typename MicroKernels<T>::AskingKernel kernel, AOrder order,
                                   Factors<T> factors) const {
    std::vector<T> c = c_;
    kernel(shape_in(order), a_in(order).data(), b_.data(), c.data(), factors.alpha, factors.beta, ahead_of(c));
    return c;
  }
  /// The same with A, by columns, and B packed for exactly this tile, and nothing behind them; C far away or not.
  [[nodiscard]] std::vector<T> run_packed(typename MicroKernels<T>::AskingKernel kernel, Factors<T> factors,
                                          bool c_is_far) const {
    std::vector<T> c = c_;
    std::vector<T> columns_of_a;
    for (std::int64_t p = 0; p < shape_.k; ++p)
      for (std::int64_t i = 0; i < rows_; ++i)
        columns_of_a.push_back(a_[static_cast<std::size_t>(i * shape_.a_stride + p)]);
    const BeforeGuard<T> a(columns_of_a);
    const BeforeGuard<T> b(rows_of_b());
    const TileShape shape{rows_, columns_, shape_.c_stride, shape_.k, shape_.last_lanes};
    Ahead<T> ahead = ahead_of(c);
    ahead.lines_are_far = c_is_far;
    kernel(shape, a.data(), b.data(), c.data(), factors.alpha, factors.beta, ahead);
    return c;
  }
  /// B's rows, one behind the other.
  [[nodiscard]] std::vector<T> rows_of_b() const {
    std::vector<T> rows;
    for (std::int64_t p = 0; p < shape_.k; ++p)
      rows.insert(rows.end(), b_.begin() + p * shape_.b_stride, b_.begin() + p * shape_.b_stride + columns_);
    return rows;
  }
  /// The same by tiles of one vector, side by side.
  [[nodiscard]] std::vector<T> run_by_vectors(const MicroKernels<T>& kernels, int rows, int vectors,
                                              Factors<T> factors) const {
    std::vector<T> c = c_;
    for (int v = 0; v < vectors; ++v) {
      TileShape shape = shape_;
      if (v + 1 < vectors) shape.last_lanes = kernels.lanes;
      const std::int64_t column = std::int64_t{v} * kernels.lanes;
      const auto kernel = kernels.tile(AOrder::rows, rows, 1, shape.last_lanes != kernels.lanes);
      kernel(shape, a_.data(), b_.data() + column, c.data() + column, factors.alpha, factors.beta);
    }
    return c;
  }

 private:
  /// A and the tile itself, whatever the kernel multiplies.
  [[nodiscard]] Ahead<T> ahead_of(const std::vector<T>& c) const {
    return {.a = a_.data(),
            .a_stride = shape_.a_stride * static_cast<std::int64_t>(sizeof(T)),
            .a_rows = rows_,
            .lines = c.data(),
            .line_stride = shape_.c_stride,
            .line_rows = rows_};
  }
  [[nodiscard]] TileShape shape_in(AOrder order) const {
    TileShape shape = shape_;
    if (order == AOrder::columns) shape.a_stride = rows_ + 1;
    return shape;
  }
  [[nodiscard]] std::vector<T> a_in(AOrder order) const {
    if (order == AOrder::rows) return a_;
    std::vector<T> columns(static_cast<std::size_t>((rows_ + 1) * (shape_.k + 1)));
    for (std::int64_t p = 0; p < shape_.k; ++p)
      for (std::int64_t i = 0; i < rows_; ++i)
        columns[static_cast<std::size_t>(p * (rows_ + 1) + i)] = a_[static_cast<std::size_t>(i * shape_.a_stride + p)];
    return columns;
  }
  static std::vector<T> numbers(std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    std::uint32_t state = 1;
    for (T& value : values) {
      state = state * 1664525 + 1013904223;
      value = number<T>(state);
    }
    return values;
  }

  int rows_;
  std::int64_t columns_;
  TileShape shape_;
  std::vector<T> a_;
  std::vector<T> b_;
  std::vector<T> c_;
};

template <class T>
bool have_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Calls `check` for tiles of so many vectors: rows, terms, elements of the last vector, factors.
template <class T, class Check>
void visit_tiles(const MicroKernels<T>& kernels, int vectors, const Check& check) {
  for (int rows = 1; rows <= kernels.rows_of(vectors); ++rows)
    for (const std::int64_t k : {0, 1, 3, 4, 5, 8, 18})
      for (const std::int64_t lanes : {kernels.lanes, kernels.lanes - 1, 1})
        for (const Factors<T> factors : some_factors<T>()) check(rows, k, lanes, factors);
}

template <class T>
[[maybe_unused]] void expect_row_tiles_to_agree(const MicroKernels<T>& kernels) {
  visit_tiles(kernels, 1, [&](int rows, std::int64_t k, std::int64_t lanes, Factors<T> factors) {
    const Tile<T> tile(rows, lanes, k, lanes);
    EXPECT_TRUE(have_same_bits(tile.run(kernels.row_tile(rows, lanes != kernels.lanes), factors),
                               tile.run_by_vectors(kernels, rows, 1, factors)))
        << rows << " rows, " << lanes << " columns, " << k << " terms, " << factors;
  });
}

template <class T>
void expect_wide_tiles_to_agree(const MicroKernels<T>& kernels) {
  for (int vectors = 2; vectors <= kernels.most_vectors; ++vectors)
    visit_tiles(kernels, vectors, [&](int rows, std::int64_t k, std::int64_t lanes, Factors<T> factors) {
      const Tile<T> tile(rows, (vectors - 1) * kernels.lanes + lanes, k, lanes);
      EXPECT_TRUE(have_same_bits(tile.run(kernels.tile(AOrder::rows, rows, vectors, lanes != kernels.lanes), factors),
                                 tile.run_by_vectors(kernels, rows, vectors, factors)))
          << rows << " rows, " << vectors << " vectors, the last of " << lanes << ", " << k << " terms, " << factors;
    });
}

/// Tiles of whole vectors that are not short: rows, terms (also more than a step of the asking), factors.
template <class T, class Check>
void visit_whole_tiles(const MicroKernels<T>& kernels, int vectors, const Check& check) {
  for (int rows = (kernels.rows_of(vectors) + 1) / 2; rows <= kernels.rows_of(vectors); ++rows)
    for (const std::int64_t k : {0, 1, 5, 15, 16, 50, 71})
      for (const Factors<T> factors : some_factors<T>()) check(rows, k, factors);
}

template <class T>
void expect_packing_tiles_to_agree(const MicroKernels<T>& kernels, AOrder order, int vectors) {
  visit_whole_tiles(kernels, vectors, [&](int rows, std::int64_t k, Factors<T> factors) {
    const Tile<T> tile(rows, std::int64_t{vectors} * kernels.lanes, k, kernels.lanes);
    std::vector<T> packed;
    EXPECT_TRUE(have_same_bits(tile.run(kernels.packing_tile(order, rows, vectors), order, factors, packed),
                               tile.run_by_vectors(kernels, rows, vectors, factors)))
        << rows << " rows, " << vectors << " vectors, " << k << " terms, " << factors;
    EXPECT_TRUE(have_same_bits(packed, tile.rows_of_b()))
        << rows << " rows, " << vectors << " vectors, " << k << " terms";
    EXPECT_TRUE(have_same_bits(tile.run_without_place(kernels.packing_tile(order, rows, vectors), order, factors),
                               tile.run_by_vectors(kernels, rows, vectors, factors)))
        << "nothing packed, " << rows << " rows, " << vectors << " vectors, " << k << " terms, " << factors;
  });
}

template <class T>
void expect_asking_tiles_to_agree(const MicroKernels<T>& kernels, AOrder order, int vectors) {
  visit_whole_tiles(kernels, vectors, [&](int rows, std::int64_t k, Factors<T> factors) {
    const Tile<T> tile(rows, std::int64_t{vectors} * kernels.lanes, k, kernels.lanes);
    EXPECT_TRUE(have_same_bits(tile.run(kernels.asking_tile(order, rows, vectors), order, factors),
                               tile.run_by_vectors(kernels, rows, vectors, factors)))
        << rows << " rows, " << vectors << " vectors, " << k << " terms, " << factors;
    if (order == AOrder::rows) return;
    for (const bool c_is_far : {false, true})
      EXPECT_TRUE(have_same_bits(tile.run_packed(kernels.asking_tile(order, rows, vectors), factors, c_is_far),
                                 tile.run_by_vectors(kernels, rows, vectors, factors)))
          << "packed, " << rows << " rows, " << vectors << " vectors, " << k << " terms, " << factors
          << (c_is_far ? ", C far away" : "");
  });
}

/// Every tile of the packed loops.
template <class T>
void expect_loop_tiles_to_agree(const MicroKernels<T>& kernels) {
  for (const AOrder order : {AOrder::rows, AOrder::columns}) {
    expect_packing_tiles_to_agree(kernels, order, 2);
    expect_asking_tiles_to_agree(kernels, order, 2);
    expect_asking_tiles_to_agree(kernels, order, kernels.most_vectors);
  }
  if (kernels.most_vectors < 4) return;
  expect_packing_tiles_to_agree(kernels, AOrder::columns, 3);
  expect_asking_tiles_to_agree(kernels, AOrder::columns, 3);
}

/// pack() on lanes that lie `lane_stride` apart and terms that lie `term_stride` apart.
template <class T>
void expect_panels(const MicroKernels<T>& kernels, std::int64_t lane_stride, std::int64_t term_stride,
                   std::int64_t lanes, std::int64_t width, std::int64_t terms) {
  std::vector<T> from(static_cast<std::size_t>((lanes - 1) * lane_stride + (terms - 1) * term_stride + 1));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = number<T>(static_cast<std::uint32_t>(i + 1) << 8);
  const std::int64_t panels = (lanes + width - 1) / width;
  std::vector<T> packed(static_cast<std::size_t>(panels * width * terms), T(-7));
  kernels.pack_b(from.data(), lane_stride, term_stride, lanes, width, terms, packed.data());
  std::vector<T> expected(packed.size(), T(0));
  for (std::int64_t l = 0; l < lanes; ++l)
    for (std::int64_t p = 0; p < terms; ++p)
      expected[static_cast<std::size_t>(l / width * width * terms + p * width + l % width)] =
          from[static_cast<std::size_t>(l * lane_stride + p * term_stride)];
  EXPECT_TRUE(have_same_bits(packed, expected)) << lanes << " lanes " << lane_stride << " apart, " << terms << " terms "
                                                << term_stride << " apart, panels of " << width;
}

template <class T>
void expect_all_panels(const MicroKernels<T>& kernels) {
  for (const std::int64_t width : {1, 3, 6, 7, 8, 12, 16, 24, 48})
    for (const std::int64_t lanes : {width, width - width / 3, 2 * width + 1})
      for (const std::int64_t terms : {1, 2, 7, 33, 130}) {
        expect_panels<T>(kernels, terms + 3, 1, lanes, width, terms);
        expect_panels<T>(kernels, 1, lanes + 2, lanes, width, terms);
        expect_panels<T>(kernels, 2 * terms + 1, 2, lanes, width, terms);
        expect_panels<T>(kernels, 2, 2 * lanes + 20, lanes, width, terms);
      }
}

#if defined(__x86_64__)
TEST(Tiles, RowAfterRowIsTermAfterTerm) {
  if (widest_isa() < Isa::avx512) GTEST_SKIP() << why_unavailable(Isa::avx512);
  expect_row_tiles_to_agree(avx512_f32());
  expect_row_tiles_to_agree(avx512_f64());
}
#endif

/// check(kernels) for each of this machine's plain kinds.
template <class Check>
void for_each_plain_kind(const Check& check) {
  if (widest_isa() == Isa::portable) GTEST_SKIP() << "there are no micro-kernels for this processor";
  const auto check_all = [&](const auto&... kernels) { (check(kernels), ...); };
#if defined(__x86_64__)
  check_all(avx2_f32(), avx2_f64(), avx2_cf32(), avx2_cf64(), avx2_i32(), avx2_i64());
  if (widest_isa() < Isa::avx512) GTEST_SKIP() << why_unavailable(Isa::avx512);
  check_all(avx512_f32(), avx512_f64(), avx512_cf32(), avx512_cf64(), avx512_i32(), avx512_i64());
#elif defined(__aarch64__)
  check_all(neon_f32(), neon_f64(), neon_cf32(), neon_cf64(), neon_i32(), neon_i64());
#endif
}

TEST(Tiles, SeveralVectorsAreAsManyTiles) {
  for_each_plain_kind([](const auto& kernels) { expect_wide_tiles_to_agree(kernels); });
}

TEST(Tiles, PackingAndAskingChangeNothing) {
  for_each_plain_kind([](const auto& kernels) { expect_loop_tiles_to_agree(kernels); });
}

TEST(Tiles, PanelsHoldTheirLanesTermAfterTerm) {
  for_each_plain_kind([](const auto& kernels) { expect_all_panels(kernels); });
}

}  // namespace
}  // namespace exactile::cpu
