// SPDX-License-Identifier: Apache-2.0
#include "comparison/operands.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "comparison/ours.hpp"

namespace exactile::comparison {
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

void repeat(void* memory, std::int64_t bytes, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i)
    std::memcpy(static_cast<std::byte*>(memory) + i * bytes, memory, static_cast<std::size_t>(bytes));
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

std::int64_t set_count(const Product& product, const Context* context, bool rotates) {
  if (!rotates && !is_vector_like(product)) return 1;
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

OperandSets::OperandSets(const Product& product, std::int64_t count, const Context* context)
    : context_(context),
      count_(count),
      strides_(distances(product)),
      a_(allocate(strides_.a * count)),
      b_(allocate(strides_.b * count)),
      c_(allocate(strides_.c * count)),
      first_{a_.get(), b_.get(), c_.get()} {
  constexpr std::uint64_t seed = 1;
  const GemmDescription d = description_of(product);
  verification::fill(product.fill, seed, product.type, d.m, d.k, d.a, d.batch_count, a_.get(), verification::Part::a);
  verification::fill(product.fill, seed, product.type_b, d.k, d.n, d.b, d.batch_count, b_.get(), verification::Part::b);
  repeat(a_.get(), strides_.a, count);
  repeat(b_.get(), strides_.b, count);
  std::memset(c_.get(), 0, static_cast<std::size_t>(strides_.c * count));
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

}  // namespace exactile::comparison
