// SPDX-License-Identifier: Apache-2.0
#include "oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace exactile::bench {
namespace {

constexpr int samples = 64;

template <class T>
struct View {
  const T* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
  T operator()(std::int64_t i, std::int64_t j) const { return data[i * row_stride + j * column_stride]; }
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

template <class T>
std::string check_element(const Product& p, Operands operands, Place at) {
  const auto a = view_of<T>(operands.a, p.a, at.number);
  const auto b = view_of<T>(operands.b, p.b, at.number);
  long double sum = 0;
  long double magnitude = 0;
  for (std::int64_t l = 0; l < p.k; ++l) {
    const long double term = static_cast<long double>(a(at.i, l)) * static_cast<long double>(b(l, at.j));
    sum += term;
    magnitude += std::fabs(term);
  }
  const T got = view_of<T>(operands.c, p.c, at.number)(at.i, at.j);
  const long double ku = static_cast<long double>(p.k) * static_cast<long double>(unit_roundoff(p.type));
  const long double bound = ku / (1 - ku) * magnitude;
  // Written so that NaN is an error.
  if (std::fabs(static_cast<long double>(got) - sum) <= bound) return {};
  return fmt::format("product {}, element ({}, {}) is {}, expected {} within {}", at.number, at.i, at.j, got,
                     static_cast<double>(sum), static_cast<double>(bound));
}

template <class T>
std::string find_nan(const Product& p, Operands operands) {
  for (std::int64_t number = 0; number < p.batch; ++number) {
    const auto c = view_of<T>(operands.c, p.c, number);
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j)
        if (std::isnan(c(i, j))) return fmt::format("product {}, element ({}, {}) is NaN", number, i, j);
  }
  return {};
}

template <class T>
std::string find_error_as(const Product& p, Operands operands) {
  if (std::string error = find_nan<T>(p, operands); !error.empty()) return error;
  std::mt19937_64 bits(7);
  const auto below = [&bits](std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(bits);
  };
  // The last element of the last product is the one that edges get wrong most often.
  Place place{p.batch - 1, p.m - 1, p.n - 1};
  for (int sample = 0; sample < samples; ++sample) {
    if (std::string error = check_element<T>(p, operands, place); !error.empty()) return error;
    place = {below(p.batch), below(p.m), below(p.n)};
  }
  return {};
}

}  // namespace

std::string find_error(const Product& product, Operands operands) {
  if (product.type == ElementType::f32) return find_error_as<float>(product, operands);
  return find_error_as<double>(product, operands);
}

}  // namespace exactile::bench
