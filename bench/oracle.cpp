// SPDX-License-Identifier: Apache-2.0
#include "oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "elements.hpp"
#include "exactile/error_bound.hpp"

namespace exactile::bench {
namespace {

constexpr int samples = 64;

template <class T>
long double number(T x) {
  if constexpr (sizeof(T) <= 2 && !std::is_integral_v<T>) {
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
  long double operator()(std::int64_t i, std::int64_t j) const {
    return number(data[i * row_stride + j * column_stride]);
  }
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

/// Of the sum in the accumulator's type, and of its one rounding where C is narrower.
long double bound(const Product& p, long double sum, long double magnitude) {
  const ElementType accumulator = accumulator_type(p.type);
  const long double ku = static_cast<long double>(p.k) * static_cast<long double>(unit_roundoff(accumulator));
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

template <class In, class Out>
void judge_element(const Product& p, Operands operands, Place at, SquareSums& squares, Judgement& judgement) {
  const auto a = view_of<In>(operands.a, p.a, at.number);
  const auto b = view_of<In>(operands.b, p.b, at.number);
  long double sum = 0;
  long double magnitude = 0;
  for (std::int64_t l = 0; l < p.k; ++l) {
    const long double term = a(at.i, l) * b(l, at.j);
    sum += term;
    magnitude += std::fabs(term);
  }
  const long double got = view_of<Out>(operands.c, p.c, at.number)(at.i, at.j);
  const long double error = std::fabs(got - sum);
  squares.errors += error * error;
  squares.elements += sum * sum;
  const long double allowed = bound(p, sum, magnitude);
  if (error > 0) judgement.over_bound = std::max(judgement.over_bound, static_cast<double>(error / allowed));
  if (sum != 0)
    judgement.relative_error = std::max(judgement.relative_error, static_cast<double>(error / std::fabs(sum)));
  // Written so that NaN is an error.
  if (error <= allowed || !judgement.error.empty()) return;
  judgement.error = fmt::format("product {}, element ({}, {}) is {}, expected {} within {}", at.number, at.i, at.j,
                                static_cast<double>(got), static_cast<double>(sum), static_cast<double>(allowed));
}

template <class Out>
std::string find_nan(const Product& p, Operands operands) {
  for (std::int64_t number = 0; number < p.batch; ++number) {
    const auto c = view_of<Out>(operands.c, p.c, number);
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j)
        if (std::isnan(c(i, j))) return fmt::format("product {}, element ({}, {}) is NaN", number, i, j);
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
