// SPDX-License-Identifier: Apache-2.0
// NaN and Inf come out as the plain loop's, wherever in the operands they stand.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "conformance/support.hpp"

namespace exactile::test {
namespace {

/// Small matrices of one real type, set element by element.
template <class T>
class Product {
 public:
  Product(std::int64_t m, std::int64_t n, std::int64_t k)
      : d_(contiguous({element_type_v<T>, element_type_v<T>}, m, n, k)),
        a_(static_cast<std::size_t>(m * k), T(0)),
        b_(static_cast<std::size_t>(k * n), T(0)),
        c_(static_cast<std::size_t>(m * n), T(1)) {}

  T& a(std::int64_t i, std::int64_t p) { return a_[static_cast<std::size_t>(i * d_.k + p)]; }
  T& b(std::int64_t p, std::int64_t j) { return b_[static_cast<std::size_t>(p * d_.n + j)]; }
  T& c(std::int64_t i, std::int64_t j) { return c_[static_cast<std::size_t>(i * d_.n + j)]; }
  void clear() {
    std::fill(a_.begin(), a_.end(), T(0));
    std::fill(b_.begin(), b_.end(), T(0));
  }
  [[nodiscard]] bool run(const std::string& kernel, Scalar alpha = 1, Scalar beta = 0) {
    return runs(d_, {.a = a_.data(), .b = b_.data(), .c = c_.data(), .alpha = alpha, .beta = beta}, {kernel, d_.types});
  }

 private:
  GemmDescription d_;
  std::vector<T> a_, b_, c_;
};

template <class T>
class SpecialValues : public testing::Test {
 protected:
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  static constexpr T infinity = std::numeric_limits<T>::infinity();

  static std::vector<std::string> kernel_names() {
    std::vector<std::string> names{""};
    for (const KernelOfType& kernel : available_kernels())
      if (kernel.types == GemmTypes{element_type_v<T>, element_type_v<T>}) names.push_back(kernel.kernel);
    return names;
  }
};

using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(SpecialValues, RealTypes);

/// A value times zero must be NaN: a kernel that skips zeros loses it. One special at every depth, the rest zero.
TYPED_TEST(SpecialValues, TimesZeroIsNaN) {
  for (const std::string& kernel : this->kernel_names()) {
    for (const auto& [m, n, k] : {std::tuple{3, 5, 9}, {14, 33, 20}, {1, 40, 21}, {40, 1, 21}, {2, 3, 300}}) {
      Product<TypeParam> product(m, n, k);
      for (std::int64_t p = 0; p<k; p += k> 30 ? 43 : 1) {
        for (const TypeParam special : {this->nan, this->infinity, -this->infinity}) {
          product.clear();
          product.b(p, n - 1) = special;
          if (!product.run(kernel)) continue;
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j)
              ASSERT_EQ(std::isnan(product.c(i, j)), j == n - 1) << kernel << " B(" << p << ") = " << special;
          product.clear();
          product.a(m - 1, p) = special;
          ASSERT_TRUE(product.run(kernel));
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j)
              ASSERT_EQ(std::isnan(product.c(i, j)), i == m - 1) << kernel << " A(" << p << ") = " << special;
        }
      }
    }
  }
}

TYPED_TEST(SpecialValues, InfinitiesKeepTheirSignAndMeet) {
  for (const std::string& kernel : this->kernel_names()) {
    Product<TypeParam> product(4, 20, 5);
    for (std::int64_t p = 0; p < 5; ++p)
      for (std::int64_t j = 0; j < 20; ++j) product.b(p, j) = static_cast<TypeParam>(j % 2 == 0 ? 1 : -1);
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t p = 0; p < 5; ++p) product.a(i, p) = 1;
    product.a(1, 2) = this->infinity;
    product.a(2, 0) = this->infinity;
    product.a(2, 4) = -this->infinity;
    if (!product.run(kernel)) continue;
    for (std::int64_t j = 0; j < 20; ++j) {
      const TypeParam sign = j % 2 == 0 ? 1 : -1;
      EXPECT_EQ(product.c(0, j), 5 * sign) << kernel;
      EXPECT_EQ(product.c(1, j), sign * this->infinity) << kernel;
      EXPECT_TRUE(std::isnan(product.c(2, j))) << kernel;
      EXPECT_EQ(product.c(3, j), 5 * sign) << kernel;
    }
  }
}

TYPED_TEST(SpecialValues, ZeroScalarsKeepThemOut) {
  for (const std::string& kernel : this->kernel_names()) {
    Product<TypeParam> product(6, 18, 7);
    product.a(3, 3) = this->nan;
    product.b(2, 2) = this->infinity;
    if (!product.run(kernel, 0, 2)) continue;  // alpha = 0
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t j = 0; j < 18; ++j) ASSERT_EQ(product.c(i, j), 2) << kernel;
    product.clear();
    product.c(1, 1) = this->nan;
    ASSERT_TRUE(product.run(kernel, 1, 0));  // beta = 0
    EXPECT_EQ(product.c(1, 1), 0) << kernel;
  }
}

TYPED_TEST(SpecialValues, NonzeroScalarsLetThemThrough) {
  for (const std::string& kernel : this->kernel_names()) {
    Product<TypeParam> product(6, 18, 7);
    product.c(1, 1) = this->nan;
    product.c(2, 2) = this->infinity;
    if (!product.run(kernel, 1, 1)) continue;
    EXPECT_TRUE(std::isnan(product.c(1, 1))) << kernel;
    EXPECT_EQ(product.c(2, 2), this->infinity) << kernel;
    EXPECT_EQ(product.c(5, 17), 1) << kernel;
    ASSERT_TRUE(product.run(kernel, this->nan, 0));
    EXPECT_TRUE(std::isnan(product.c(5, 17))) << kernel;
    product.c(5, 17) = 1;
    ASSERT_TRUE(product.run(kernel, 0, this->nan));
    EXPECT_TRUE(std::isnan(product.c(5, 17))) << kernel;
  }
}

/// Scales meet the finished sum, in whatever parts it was formed.
TYPED_TEST(SpecialValues, OfScales) {
  const auto inf = this->infinity;
  for (const std::string& kernel : this->kernel_names()) {
    for (const std::int64_t k : {3, 3000}) {
      GemmDescription d = contiguous({element_type_v<TypeParam>, element_type_v<TypeParam>}, 5, 2, k);
      d.row_scales = d.column_scales = true;
      std::vector<TypeParam> a(static_cast<std::size_t>(5 * k), TypeParam(1));
      std::vector<TypeParam> b(static_cast<std::size_t>(2 * k), TypeParam(1));
      // The sums of a row's halves have different signs; the sum is positive.
      for (std::int64_t p = 0; p < k / 3; ++p) b[static_cast<std::size_t>(2 * p)] = -1;
      std::fill_n(a.begin() + 4 * k, k, TypeParam(0));
      const TypeParam rows[] = {inf, -inf, this->nan, 0, inf};
      const TypeParam columns[] = {1, -2};
      std::vector<TypeParam> c(10, TypeParam(1));
      if (!runs(d,
                {.a = a.data(), .b = b.data(), .c = c.data(), .beta = 2, .row_scales = rows, .column_scales = columns},
                {kernel, d.types}))
        continue;
      EXPECT_EQ(c[0], inf) << kernel;
      EXPECT_EQ(c[1], -inf) << kernel;
      EXPECT_EQ(c[2], -inf) << kernel;
      EXPECT_EQ(c[3], inf) << kernel;
      EXPECT_TRUE(std::isnan(c[4]) && std::isnan(c[5])) << kernel;
      EXPECT_EQ(c[6], 2) << kernel;
      EXPECT_EQ(c[7], 2) << kernel;
      EXPECT_TRUE(std::isnan(c[8]) && std::isnan(c[9])) << kernel << ": zero times infinity";
    }
  }
}

TYPED_TEST(SpecialValues, ReluKeepsNaN) {
  for (const std::string& kernel : this->kernel_names()) {
    for (const Activation activation : {Activation::relu, Activation::gelu}) {
      GemmDescription d = contiguous({element_type_v<TypeParam>, element_type_v<TypeParam>}, 1, 3, 1);
      d.activation = activation;
      const TypeParam a = 1;
      const TypeParam b[] = {this->nan, -2, this->infinity};
      TypeParam c[3] = {};
      if (!runs(d, {.a = &a, .b = b, .c = c}, {kernel, d.types})) continue;
      EXPECT_TRUE(std::isnan(c[0])) << kernel << ' ' << to_string(activation);
      EXPECT_LE(c[1], 0) << kernel;
      EXPECT_GT(c[1], -0.1) << kernel;
      EXPECT_EQ(c[2], this->infinity) << kernel;
    }
  }
}

template <class T>
class ComplexSpecialValues : public SpecialValues<T> {};
using ComplexTypes = testing::Types<std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(ComplexSpecialValues, ComplexTypes);

/// A real alpha or beta multiplies both parts: no infinite part of the sum or of C makes a NaN of the other.
TYPED_TEST(ComplexSpecialValues, RealScalarsMultiplyBothParts) {
  using Real = typename TypeParam::value_type;
  const Real inf = std::numeric_limits<Real>::infinity();
  const auto times = [](Real factor, TypeParam z) { return TypeParam(factor * z.real(), factor * z.imag()); };
  for (const std::string& kernel : this->kernel_names())
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {5, 7, 1}, {33, 34, 1}, {33, 34, 300}, {2, 3, 3000}})
      for (const Real alpha : {Real(1), Real(-2)})
        for (const Real beta : {Real(0), Real(1), Real(-3)}) {
          Product<TypeParam> product(m, n, k);
          for (std::int64_t i = 0; i < m; ++i) product.a(i, 0) = {1, 0};
          for (std::int64_t j = 0; j < n; ++j) product.b(0, j) = {2, 1};
          // The other terms are 0 * 0: Inf meets nothing that is zero.
          product.a(m - 1, 0) = {inf, 1};
          product.c(0, n - 1) = {inf, 2};
          if (!product.run(kernel, static_cast<double>(alpha), static_cast<double>(beta))) continue;
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              const TypeParam sum = i == m - 1 ? TypeParam(inf, inf) : TypeParam(2, 1);
              const TypeParam before = i == 0 && j == n - 1 ? TypeParam(inf, 2) : TypeParam(1, 0);
              TypeParam due = times(alpha, sum);
              if (beta != 0) due += times(beta, before);
              const auto same = [](Real x, Real y) { return x == y || (std::isnan(x) && std::isnan(y)); };
              const TypeParam found = product.c(i, j);
              ASSERT_TRUE(same(found.real(), due.real()) && same(found.imag(), due.imag()))
                  << kernel << " " << m << " x " << n << " x " << k << ", alpha " << alpha << ", beta " << beta << ": "
                  << found << " where " << due << " was due";
            }
        }
}

/// What remains where alpha or k is zero.
TYPED_TEST(ComplexSpecialValues, RealBetaAloneMultipliesBothParts) {
  using Real = typename TypeParam::value_type;
  const Real inf = std::numeric_limits<Real>::infinity();
  Product<TypeParam> product(2, 3, 1);
  product.c(1, 1) = {inf, 2};
  ASSERT_TRUE(product.run("", 0, 2));
  EXPECT_EQ(product.c(1, 1), TypeParam(inf, 4));
  EXPECT_EQ(product.c(0, 0), TypeParam(2, 0));
}

}  // namespace
}  // namespace exactile::test
