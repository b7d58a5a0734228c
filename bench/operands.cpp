// SPDX-License-Identifier: Apache-2.0
#include "operands.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "elements.hpp"

namespace exactile::bench {
namespace {

/// Of every operand: a cache line of the processor, and what a GPU's widest loads like.
constexpr std::int64_t alignment = 256;
constexpr std::int64_t more_than_the_caches = std::int64_t{64} << 20;
constexpr std::int64_t more_than_a_gpus_caches = std::int64_t{256} << 20;

bool is_vector_like(const Product& p) {
  const std::int64_t smallest = std::min({p.m, p.n, p.k});
  const std::int64_t largest = std::max({p.m, p.n, p.k});
  return smallest <= 8 && largest >= 128;
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

// A list of numbers is repeated, because drawing each element costs more than the product of a thin shape. Its length
// is a prime, so that no row or column of a matrix sees the same numbers as its neighbour.
template <class T>
void repeat(void* memory, std::int64_t bytes, const std::vector<double>& list) {
  std::vector<T> numbers;
  for (const double x : list) {
    if constexpr (is_complex_v<T>) {
      // The imaginary parts are the same numbers from the end.
      using Real = typename T::value_type;
      numbers.emplace_back(static_cast<Real>(x), static_cast<Real>(list[list.size() - 1 - numbers.size()]));
    } else if constexpr (sizeof(T) <= 2 && !std::is_integral_v<T>) {
      numbers.push_back(static_cast<T>(static_cast<float>(x)));
    } else {
      numbers.push_back(static_cast<T>(x));
    }
  }
  T* elements = static_cast<T*>(memory);
  const std::size_t total = static_cast<std::size_t>(bytes) / sizeof(T);
  for (std::size_t at = 0; at < total; at += numbers.size())
    std::copy_n(numbers.data(), std::min(numbers.size(), total - at), elements + at);
}

/// A product of two such elements, and a sum of many, neither overflows nor vanishes. With f16 the sums have a standard
/// deviation of 12.2 sqrt(K) up to K = 65521, where the numbers begin again, and in proportion to K from there on: at
/// K = 2^17 f16 holds ten of them. Longer products can overflow.
int reach_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::cf64: return 400;
    case ElementType::f32:
    case ElementType::cf32:
    case ElementType::bf16: return 40;
    default: return 3;
  }
}

/// Draws numbers of one kind, one after the other.
class Numbers {
 public:
  Numbers(Fill kind, ElementType type, std::uint32_t seed) : kind_(kind), type_(type), bits_(seed) {}

  double next() {
    if (!is_floating(type_)) return whole_(bits_);
    if (kind_ == Fill::uniform) return uniform_(bits_);
    const double normal = normal_(bits_);
    if (kind_ == Fill::normal) return normal;
    const int reach = reach_of(type_);
    return std::ldexp(normal, std::uniform_int_distribution<int>(-reach, reach)(bits_));
  }

 private:
  Fill kind_;
  ElementType type_;
  std::mt19937_64 bits_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::uniform_int_distribution<int> whole_{-100, 100};
};

void fill(Fill kind, ElementType type, void* memory, std::int64_t bytes, std::uint32_t seed) {
  constexpr std::size_t prime = 65521;
  Numbers drawn(kind, type, seed);
  std::vector<double> numbers(prime);
  for (double& x : numbers) x = drawn.next();
  with_element(type, [&]<class T>() { repeat<T>(memory, bytes, numbers); });
}

Strides distances(const Product& p) {
  const std::int64_t in = size_in_bytes(p.type) * p.batch;
  const std::int64_t out = size_in_bytes(p.output) * p.batch;
  return {round_up(p.a.elements() * in, alignment), round_up(p.b.elements() * in, alignment),
          round_up(p.c.elements() * out, alignment)};
}

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

DeviceMemory image_of(const Context& context, const void* data, std::int64_t bytes) {
  Result<DeviceMemory> memory = context.allocate(bytes);
  require(memory.status());
  require(memory.value().upload(data, bytes));
  return std::move(memory).value();
}

}  // namespace

std::int64_t set_count(const Product& product, const Context* context) {
  if (!is_vector_like(product)) return 1;
  return set_count(product, context, context == nullptr ? more_than_the_caches : more_than_a_gpus_caches);
}

std::int64_t set_count(const Product& product, const Context* context, std::int64_t bytes) {
  // Memory of OpenCL is a handle, not an address: the next set does not lie so many bytes on.
  if (context != nullptr && context->backend() == Backend::opencl) return 1;
  return bytes / product.bytes() + 2;
}

OperandSets::Memory OperandSets::allocate(std::int64_t bytes) {
  void* memory = std::aligned_alloc(alignment, static_cast<std::size_t>(bytes));
  if (memory == nullptr) throw std::bad_alloc();
  return Memory(memory);
}

OperandSets::OperandSets(const Product& product, std::int64_t count, const Context* context, Fill kind)
    : context_(context),
      count_(count),
      strides_(distances(product)),
      a_(allocate(strides_.a * count)),
      b_(allocate(strides_.b * count)),
      c_(allocate(strides_.c * count)),
      first_{a_.get(), b_.get(), c_.get()} {
  fill(kind, product.type, a_.get(), strides_.a * count, 1);
  fill(kind, product.type, b_.get(), strides_.b * count, 2);
  fill(kind, product.output, c_.get(), strides_.c * count, 3);
  if (context == nullptr) return;
  images_.push_back(image_of(*context, a_.get(), strides_.a * count));
  images_.push_back(image_of(*context, b_.get(), strides_.b * count));
  images_.push_back(image_of(*context, c_.get(), strides_.c * count));
  first_ = {images_[0].at(), images_[1].at(), images_[2].at()};
}

void OperandSets::poison() {
  // All bits set is a NaN in every floating type.
  std::memset(c_.get(), 0xff, static_cast<std::size_t>(strides_.c));
  if (context_ != nullptr) require(images_[2].upload(c_.get(), strides_.c));
}

Operands OperandSets::fetch() {
  if (context_ != nullptr) require(images_[2].download(c_.get(), strides_.c));
  return {a_.get(), b_.get(), c_.get()};
}

}  // namespace exactile::bench
