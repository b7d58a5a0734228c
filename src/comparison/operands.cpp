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

/// How many sets the host's memory holds: all, or as many as go to a device in one copy.
std::int64_t sets_on_host(std::int64_t count, std::int64_t set_bytes, const Context* context) {
  constexpr std::int64_t bytes_of_copy = std::int64_t{16} << 20;
  return context == nullptr ? count
                            : std::clamp<std::int64_t>(bytes_of_copy / std::max<std::int64_t>(set_bytes, 1), 1, count);
}

/// `count` sets, of which `data` holds the first.
DeviceMemory image_of(const Context& context, const void* data, std::int64_t set_bytes, std::int64_t count) {
  Result<DeviceMemory> memory = context.allocate(set_bytes * count);
  require(memory.status());
  const std::int64_t block = sets_on_host(count, set_bytes, &context);
  for (std::int64_t i = 0; i < count; i += block)
    require(memory.value().upload(data, set_bytes * std::min(block, count - i), set_bytes * i));
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

OperandSets::Memory OperandSets::sets_of(std::int64_t bytes) const {
  return allocate(bytes * sets_on_host(count_, bytes, context_));
}

OperandSets::OperandSets(const Product& product, std::int64_t count, const Context* context)
    : context_(context),
      count_(count),
      strides_(distances(product)),
      a_(sets_of(strides_.a)),
      b_(sets_of(strides_.b)),
      c_(sets_of(strides_.c)),
      first_{a_.get(), b_.get(), c_.get()} {
  constexpr std::uint64_t seed = 1;
  const GemmDescription d = description_of(product);
  verification::fill(product.fill, seed, product.type, d.m, d.k, d.a, d.batch_count, a_.get(), verification::Part::a);
  verification::fill(product.fill, seed, product.type_b, d.k, d.n, d.b, d.batch_count, b_.get(), verification::Part::b);
  const auto take = [&](void* memory, std::int64_t bytes) {
    repeat(memory, bytes, sets_on_host(count, bytes, context));
    if (context != nullptr) images_.push_back(image_of(*context, memory, bytes, count));
  };
  std::memset(c_.get(), 0, static_cast<std::size_t>(strides_.c));
  take(a_.get(), strides_.a);
  take(b_.get(), strides_.b);
  take(c_.get(), strides_.c);
  if (context != nullptr) first_ = {images_[0].at(), images_[1].at(), images_[2].at()};
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
