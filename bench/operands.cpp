// SPDX-License-Identifier: Apache-2.0
#include "operands.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <random>
#include <vector>

namespace exactile::bench {
namespace {

constexpr std::int64_t cache_line = 64;
constexpr std::int64_t more_than_the_caches = std::int64_t{64} << 20;

bool is_vector_like(const Product& p) {
  const std::int64_t smallest = std::min({p.m, p.n, p.k});
  const std::int64_t largest = std::max({p.m, p.n, p.k});
  return smallest <= 8 && largest >= 128;
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

// A list of normal numbers is repeated, because drawing each element costs more than the product of a thin shape. Its
// length is a prime, so that no row or column of a matrix sees the same numbers as its neighbour.
template <class T>
void fill_normal(void* memory, std::int64_t bytes, std::uint32_t seed) {
  constexpr std::size_t prime = 65521;
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<T> numbers(prime);
  for (T& x : numbers) x = static_cast<T>(normal(bits));
  T* elements = static_cast<T*>(memory);
  const std::size_t total = static_cast<std::size_t>(bytes) / sizeof(T);
  for (std::size_t at = 0; at < total; at += prime)
    std::copy_n(numbers.data(), std::min(prime, total - at), elements + at);
}

void fill(ElementType type, void* memory, std::int64_t bytes, std::uint32_t seed) {
  if (type == ElementType::f32) return fill_normal<float>(memory, bytes, seed);
  fill_normal<double>(memory, bytes, seed);
}

Strides distances(const Product& p) {
  const std::int64_t element = size_in_bytes(p.type) * p.batch;
  return {round_up(p.a.elements() * element, cache_line), round_up(p.b.elements() * element, cache_line),
          round_up(p.c.elements() * element, cache_line)};
}

}  // namespace

std::int64_t set_count(const Product& product) {
  return is_vector_like(product) ? more_than_the_caches / product.bytes() + 2 : 1;
}

OperandSets::Memory OperandSets::allocate(std::int64_t bytes) {
  void* memory = std::aligned_alloc(cache_line, static_cast<std::size_t>(bytes));
  if (memory == nullptr) throw std::bad_alloc();
  return Memory(memory);
}

OperandSets::OperandSets(const Product& product, std::int64_t count)
    : product_(product),
      count_(count),
      strides_(distances(product)),
      a_(allocate(strides_.a * count)),
      b_(allocate(strides_.b * count)),
      c_(allocate(strides_.c * count)),
      first_{a_.get(), b_.get(), c_.get()} {
  fill(product.type, a_.get(), strides_.a * count, 1);
  fill(product.type, b_.get(), strides_.b * count, 2);
  fill(product.type, c_.get(), strides_.c * count, 3);
}

void OperandSets::poison() const {
  const std::int64_t elements = product_.c.elements() * product_.batch;
  if (product_.type == ElementType::f32) {
    std::fill_n(static_cast<float*>(first_.c), elements, std::numeric_limits<float>::quiet_NaN());
  } else {
    std::fill_n(static_cast<double*>(first_.c), elements, std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace exactile::bench
