// SPDX-License-Identifier: Apache-2.0
#include "oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>

#include "elements.hpp"
#include "exactile/error_bound.hpp"

namespace exactile::bench {
namespace {

constexpr int samples = 64;

/// A real number has an imaginary part of 0.
using Number = std::complex<long double>;

template <class T>
Number number(T x) {
  if constexpr (is_complex_v<T>) {
    return {static_cast<long double>(x.real()), static_cast<long double>(x.imag())};
  } else if constexpr (sizeof(T) <= 2 && !std::is_integral_v<T>) {
    return static_cast<long double>(static_cast<float>(x));
  } else {
    return static_cast<long double>(x);
  }
}

template <class T>
struct View {
  const T* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
  Number operator()(std::int64_t i, std::int64_t j) const { return number(data[i * row_stride + j * column_stride]); }
};

template <class T>
View<T> view_of(const void* data, const Layout& layout, std::int64_t number) {
  const T* first = static_cast<const T*>(data) + number * layout.elements();
  if (layout.transposed) return {first, layout.step, layout.leading};
  return {first, layout.leading, layout.step};
}

struct Place {
  std::int64_t number;  ///< in the batch
  std::int64_t i;
  std::int64_t j;
};

/// A sum and that of its terms' absolute values.
struct Exact {
  long double sum = 0;
  long double magnitude = 0;
  void add(long double term) {
    sum += term;
    magnitude += std::fabs(term);
  }
};

/// Of the sum in the accumulator's type, and of its one rounding where C is narrower. Each part of a complex sum has
/// two real terms for each of K.
long double bound(const Product& p, const Exact& exact) {
  const auto& [sum, magnitude] = exact;
  const ElementType accumulator = accumulator_type(p.type);
  const long double terms = static_cast<long double>(p.k) * (is_complex(p.type) ? 2 : 1);
  const long double ku = terms * static_cast<long double>(unit_roundoff(accumulator));
  const long double beyond = error_beyond_gamma(p.accuracy, p.type);
  const long double summing = (ku / (1 - ku) + beyond) * magnitude;
  if (p.output == accumulator) return summing;
  // A subnormal of the narrowest type is rounded by half of its spacing.
  constexpr long double half_spacing = 0x1p-25L;
  return summing + static_cast<long double>(unit_roundoff(p.output)) * (std::fabs(sum) + summing) + half_spacing;
}

struct SquareSums {
  long double errors = 0;
  long double elements = 0;
};

void judge_part(const Product& p, Place at, const Exact& exact, long double got, SquareSums& squares,
                Judgement& judgement) {
  const long double error = std::fabs(got - exact.sum);
  squares.errors += error * error;
  squares.elements += exact.sum * exact.sum;
  const long double allowed = bound(p, exact);
  if (error > 0) judgement.over_bound = std::max(judgement.over_bound, static_cast<double>(error / allowed));
  if (exact.sum != 0)
    judgement.relative_error = std::max(judgement.relative_error, static_cast<double>(error / std::fabs(exact.sum)));
  // Written so that NaN is an error.
  if (error <= allowed || !judgement.error.empty()) return;
  judgement.error = fmt::format("product {}, element ({}, {}) is {}, expected {} within {}", at.number, at.i, at.j,
                                static_cast<double>(got), static_cast<double>(exact.sum), static_cast<double>(allowed));
}

template <class In, class Out>
void judge_element(const Product& p, Operands operands, Place at, SquareSums& squares, Judgement& judgement) {
  const auto a = view_of<In>(operands.a, p.a, at.number);
  const auto b = view_of<In>(operands.b, p.b, at.number);
  Exact real;
  Exact imaginary;
  for (std::int64_t l = 0; l < p.k; ++l) {
    const Number x = a(at.i, l);
    const Number y = b(l, at.j);
    real.add(x.real() * y.real());
    if (!is_complex(p.type)) continue;
    real.add(-x.imag() * y.imag());
    imaginary.add(x.real() * y.imag());
    imaginary.add(x.imag() * y.real());
  }
  const Number got = view_of<Out>(operands.c, p.c, at.number)(at.i, at.j);
  judge_part(p, at, real, got.real(), squares, judgement);
  if (is_complex(p.type)) judge_part(p, at, imaginary, got.imag(), squares, judgement);
}

template <class Out>
std::string find_nan(const Product& p, Operands operands) {
  for (std::int64_t number = 0; number < p.batch; ++number) {
    const auto c = view_of<Out>(operands.c, p.c, number);
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j)
        if (const Number x = c(i, j); std::isnan(x.real()) || std::isnan(x.imag()))
          return fmt::format("product {}, element ({}, {}) is NaN", number, i, j);
  }
  return {};
}

template <class In, class Out>
Judgement judge_as(const Product& p, Operands operands) {
  Judgement judgement{.error = find_nan<Out>(p, operands)};
  if (!judgement.error.empty()) return judgement;
  std::mt19937_64 bits(7);
  const auto below = [&bits](std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(bits);
  };
  // The last element of the last product is the one that edges get wrong most often.
  Place place{p.batch - 1, p.m - 1, p.n - 1};
  SquareSums squares;
  for (int sample = 0; sample < samples; ++sample) {
    judge_element<In, Out>(p, operands, place, squares, judgement);
    place = {below(p.batch), below(p.m), below(p.n)};
  }
  if (squares.errors > 0) judgement.norm_error = static_cast<double>(std::sqrt(squares.errors / squares.elements));
  return judgement;
}

}  // namespace

Judgement judge(const Product& product, Operands operands) {
  return with_element(product.type, [&]<class In>() {
    return with_element(product.output, [&]<class Out>() { return judge_as<In, Out>(product, operands); });
  });
}

}  // namespace exactile::bench
