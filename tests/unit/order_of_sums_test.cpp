// SPDX-License-Identifier: Apache-2.0
// The order of summation that decision 0006 promises, by plain loops: kernels that have the bits of these have each
// other's, on whatever processor they run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "cpu/micro/elements.hpp"
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

TEST(OrderOfSums, IsThatOfPlainLoops) {
  expect_order<float>("_f32_fma_");
  expect_order<double>("_f64_fma_");
}

}  // namespace
}  // namespace exactile::cpu
