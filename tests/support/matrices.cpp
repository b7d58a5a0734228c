// SPDX-License-Identifier: Apache-2.0
#include "support/matrices.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace exactile::test {
namespace {

std::vector<std::byte> zeros(std::int64_t elements, ElementType type) {
  return std::vector<std::byte>(static_cast<std::size_t>(elements * size_in_bytes(type)));
}

void* map(std::size_t bytes, int protection, int flags) {
  void* data = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

}  // namespace

Matrices::Matrices(const GemmDescription& d, std::uint64_t seed, verification::Fill fill)
    : description_(d),
      a_(zeros(d.m * d.k * d.batch_count, d.types.input)),
      b_(zeros(d.k * d.n * d.batch_count, d.types.input)),
      c_(zeros(d.m * d.n * d.batch_count, d.types.output)) {
  using verification::Part;
  verification::fill(fill, seed, d.types.input, d.m, d.k, d.a, d.batch_count, a_.data(), Part::a);
  verification::fill(fill, seed, d.types.input_b, d.k, d.n, d.b, d.batch_count, b_.data(), Part::b);
}

void Matrices::clear_c() { std::fill(c_.begin(), c_.end(), std::byte{0}); }

std::vector<std::byte> Matrices::c_rows(std::int64_t first, std::int64_t last) const {
  const std::int64_t row_bytes = description_.n * size_in_bytes(description_.types.output);
  return {c_.begin() + first * row_bytes, c_.begin() + last * row_bytes};
}

GemmDescription contiguous(GemmTypes types, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch_count) {
  const bool batched = batch_count != 1;
  return {.types = types,
          .m = m,
          .n = n,
          .k = k,
          .a = {k, 1, batched ? m * k : 0},
          .b = {n, 1, batched ? k * n : 0},
          .c = {n, 1, batched ? m * n : 0},
          .batch_count = batch_count};
}

ForbiddenMemory::ForbiddenMemory(std::size_t bytes) : data_(map(bytes, PROT_NONE, MAP_NORESERVE)), bytes_(bytes) {}
ForbiddenMemory::~ForbiddenMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

SparseMemory::SparseMemory(std::size_t bytes)
    : data_(map(bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE)), bytes_(bytes) {}
SparseMemory::~SparseMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace exactile::test
