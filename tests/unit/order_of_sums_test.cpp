// SPDX-License-Identifier: Apache-2.0
// The order of summation that decision 0006 promises, by plain loops: kernels that have the bits of these have each
// other's, on whatever processor they run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "cpu/kernel_list.hpp"
#include "cpu/micro/elements.hpp"
#include "cpu/order_of_sums.hpp"
#include "support/matrices.hpp"

namespace exactile::cpu {
namespace {

struct Sizes {
  std::int64_t m, n, k;
};

/// C <- alpha A B + beta C.
template <class T>
void by_definition(const Sizes& s, const T* a, const T* b, T* c, T alpha, T beta) {
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j, ++c)
      for (std::int64_t begin = 0; begin < s.k; begin += chunk_terms<T>) {
        T sum = 0;
        for (std::int64_t p = begin; p < std::min(s.k, begin + chunk_terms<T>); ++p)
          sum = std::fma(a[i * s.k + p], b[p * s.n + j], sum);
        const T factor = begin == 0 ? beta : T(1);
        *c = factor == 0 ? alpha * sum : std::fma(alpha, sum, factor * *c);
      }
}

/// Whether the kernel takes the product; what it then leaves must be what is due.
template <class T>
bool keeps_order(const std::string& kernel, const Sizes& s, const std::vector<T>& due) {
  const GemmDescription d = test::contiguous({element_type_v<T>, element_type_v<T>}, s.m, s.n, s.k);
  test::Matrices matrices(d, 41);
  GemmArguments arguments = matrices.arguments();
  if (!gemm(d, arguments, {.kernel = kernel}).ok()) return false;
  arguments.alpha = 3;
  arguments.beta = -0.7;
  EXPECT_TRUE(gemm(d, arguments, {.kernel = kernel}).ok());
  EXPECT_EQ(std::memcmp(matrices.c().data(), due.data(), due.size() * sizeof(T)), 0)
      << kernel << " " << s.m << " x " << s.n << " x " << s.k;
  return true;
}

template <class T>
void expect_order(const char* family) {
  int kept = 0;
  int known = 0;
  for (const Sizes& s : {Sizes{21, 34, 1100}, Sizes{3, 170, 700}, Sizes{5, 9, 11}}) {
    const GemmDescription d = test::contiguous({element_type_v<T>, element_type_v<T>}, s.m, s.n, s.k);
    test::Matrices matrices(d, 41);
    const auto* a = static_cast<const T*>(matrices.arguments().a);
    const auto* b = static_cast<const T*>(matrices.arguments().b);
    std::vector<T> due(static_cast<std::size_t>(s.m * s.n));
    by_definition(s, a, b, due.data(), T(1), T(0));
    by_definition(s, a, b, due.data(), T(3), static_cast<T>(-0.7));
    for (const KernelInfo& kernel : kernels()) {
      if (!kernel.available || kernel.name.find(family) == std::string::npos) continue;
      ++known;
      kept += keeps_order<T>(kernel.name, s, due) ? 1 : 0;
    }
  }
  if (known == 0) GTEST_SKIP() << "there are no micro-kernels for this processor";
  EXPECT_GT(kept, known / 3) << "most of the kernels refuse these products";
}

/// A sum along a line of the matrix, by its parts and their lanes.
template <class T>
T along_by_definition(const T* w, const T* x, std::int64_t terms) {
  constexpr std::int64_t block = 8192;
  constexpr std::int64_t parts = 4;
  constexpr std::int64_t lanes_of_part = 64 / sizeof(T);
  T all = 0;
  for (std::int64_t first = 0; first < terms; first += block, w += block, x += block) {
    const std::int64_t here = std::min(block, terms - first);
    const std::int64_t part = std::max<std::int64_t>((here + 255) / 256 * 64, 512);
    std::vector<T> lanes(parts * lanes_of_part);
    for (std::int64_t p = 0; p < here; ++p) {
      T& lane = lanes[static_cast<std::size_t>(p / part * lanes_of_part + p % part % lanes_of_part)];
      lane = std::fma(w[p], x[p], lane);
    }
    for (std::size_t half = lanes.size() / 2; half > 0; half /= 2)
      for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    all = first == 0 ? lanes[0] : all + lanes[0];
  }
  return all;
}

template <class T>
void expect_order_along_lines() {
  int known = 0;
  for (const Sizes& s : {Sizes{1, 13, 1000}, Sizes{3, 9, 20000}, Sizes{8, 11, 77}, Sizes{1, 1, 9001}}) {
    GemmDescription d = test::contiguous({element_type_v<T>, element_type_v<T>}, s.m, s.n, s.k);
    d.b = {.row_stride = 1, .column_stride = s.k};
    for (const KernelInfo& kernel : kernels()) {
      if (!kernel.available ||
          kernel.name.find(sizeof(T) == 4 ? "_f32_vectors" : "_f64_vectors") == std::string::npos ||
          kernel.name.find("_c") != std::string::npos || kernel.backend != Backend::cpu)
        continue;
      ++known;
      test::Matrices matrices(d, 43);
      const GemmArguments arguments = matrices.arguments();
      ASSERT_TRUE(gemm(d, arguments, {.kernel = kernel.name}).ok());
      for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j)
          EXPECT_EQ(static_cast<const T*>(arguments.c)[i * s.n + j],
                    along_by_definition(static_cast<const T*>(arguments.b) + j * s.k,
                                        static_cast<const T*>(arguments.a) + i * s.k, s.k))
              << kernel.name << " " << s.m << " x " << s.n << " x " << s.k << " at " << i << ", " << j;
    }
  }
  if (known == 0) GTEST_SKIP() << "there are no vector kernels for this processor";
}

TEST(OrderOfSums, AlongLinesIsThatOfPlainLoops) {
  expect_order_along_lines<float>();
  expect_order_along_lines<double>();
}

/// A kernel that gives way to all others cannot decide whose sums a product has, however little it is thought to take.
TEST(OrderOfSums, IsTheVectorsWhereTheyAreTheFirstOfThoseThatCompete) {
  int vectors = 0;
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::bf16, ElementType::cf32})
    for (const std::int64_t size : {64, 500, 4096}) {
      GemmDescription d = test::contiguous({type, type}, 1, size, size);
      d.b = {.row_stride = 1, .column_stride = size};
      const plan::Problem problem{.description = d, .threads = 1};
      const plan::KernelEntry* first = nullptr;
      double least = 0;
      for (const plan::KernelEntry& entry : kernel_list()) {
        const bool takes_type = std::ranges::find(entry.types, d.types) != entry.types.end();
        const bool gives_way = entry.name == "portable_blocked";
        if (!takes_type || entry.certifies || entry.role != "engine" || gives_way || !entry.unavailable(0).empty() ||
            !entry.refuses(problem).empty())
          continue;
        const double seconds = entry.cost(problem);
        if (first == nullptr || seconds < least) first = &entry;
        least = std::min(first == &entry ? seconds : least, seconds);
      }
      if (first == nullptr) GTEST_SKIP() << "there are no micro-kernels for this processor";
      const bool is_of_vectors = first->name.ends_with("_vectors");
      EXPECT_EQ(sums_as_vectors(problem), is_of_vectors) << to_string(type) << " " << size;
      vectors += is_of_vectors ? 1 : 0;
    }
  EXPECT_GT(vectors, 0);
}

/// Of bf16 whose sizes fill tiles the order is theirs whatever they cost; of less the fastest kernel's, alone.
TEST(OrderOfSums, IsTheTilesWhereTheyAreFullOrTheFirst) {
  constexpr GemmTypes types{ElementType::bf16, ElementType::f32};
  const auto problem_of = [&](const Sizes& s) {
    return plan::Problem{.description = test::contiguous(types, s.m, s.n, s.k), .threads = 1};
  };
  const bool there = why_unavailable(Isa::amx).empty();
  for (const Sizes& s : {Sizes{16, 16, 32}, Sizes{500, 20, 4000}}) EXPECT_EQ(sums_in_tiles(problem_of(s)), there);
  EXPECT_EQ(sums_in_tiles(problem_of({15, 4096, 4096})), there);  // many times faster
  EXPECT_FALSE(sums_in_tiles(problem_of({15, 15, 1})));
  for (const Sizes& s : {Sizes{0, 16, 32}, Sizes{16, 16, 0}}) EXPECT_FALSE(sums_in_tiles(problem_of(s)));
  plan::Problem reproducible = problem_of({15, 4096, 4096});
  reproducible.reproducible = true;
  EXPECT_FALSE(sums_in_tiles(reproducible));
  for (const Sizes& s : {Sizes{15, 4096, 4096}, Sizes{4, 300, 2000}, Sizes{12, 40, 20}}) {
    plan::Problem problem = problem_of(s);
    const bool in_tiles = sums_in_tiles(problem);
    problem.threads = 16;
    problem.description.batch_count = 3;
    EXPECT_EQ(sums_in_tiles(problem), in_tiles) << s.m;  // neither threads nor the batch settle it
  }
}

TEST(OrderOfSums, IsThatOfPlainLoops) {
  expect_order<float>("_f32_fma_");
  expect_order<double>("_f64_fma_");
}

}  // namespace
}  // namespace exactile::cpu
