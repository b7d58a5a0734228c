// SPDX-License-Identifier: Apache-2.0
#include "operands.hpp"

#include <cstring>

#include "failure.hpp"
#include "units.hpp"

namespace exactile::program {
namespace {

/// Copies begin at addresses that every vector load likes.
constexpr std::int64_t alignment = 4096;

std::int64_t matrix_bytes(std::int64_t rows, std::int64_t columns, std::int64_t count, ElementType type) {
  const std::int64_t elements =
      product_of_sizes(product_of_sizes(rows, columns, "rows * columns"), count, "rows * columns * batch");
  const std::int64_t bytes = product_of_sizes(elements, size_in_bytes(type), "the size in bytes");
  const std::int64_t blocks = bytes / alignment + 1;
  return product_of_sizes(blocks, alignment, "the size in bytes");
}

std::int64_t sum_of_sizes(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    fail(Exit::bad_usage, "the operands' sizes {} + {} do not fit in 64 bits", a, b);
  return sum;
}

void repeat(const Mapping& memory, std::int64_t bytes, std::int64_t copies) {
  for (std::int64_t i = 1; i < copies; ++i)
    std::memcpy(memory.data() + i * bytes, memory.data(), static_cast<std::size_t>(bytes));
}

}  // namespace

std::int64_t operand_bytes(const GemmDescription& d) {
  return sum_of_sizes(sum_of_sizes(matrix_bytes(d.m, d.k, d.batch_count, d.types.input),
                                   matrix_bytes(d.k, d.n, d.batch_count, d.types.input_b)),
                      matrix_bytes(d.m, d.n, d.batch_count, d.types.output));
}

void require_operand_memory(const GemmDescription& d, std::int64_t copies) {
  require_memory(product_of_sizes(operand_bytes(d), copies, "operand bytes * copies"),
                 fmt::format("m = {}, n = {}, k = {}, batch = {}: the operands", d.m, d.n, d.k, d.batch_count));
}

Operands::Operands(const GemmDescription& d, verification::Fill fill, std::uint64_t seed, std::int64_t copies)
    : copies_(copies),
      a_bytes_(matrix_bytes(d.m, d.k, d.batch_count, d.types.input)),
      b_bytes_(matrix_bytes(d.k, d.n, d.batch_count, d.types.input_b)),
      c_bytes_(matrix_bytes(d.m, d.n, d.batch_count, d.types.output)) {
  require_operand_memory(d, copies);
  a_ = Mapping::memory(a_bytes_ * copies);
  b_ = Mapping::memory(b_bytes_ * copies);
  c_ = Mapping::memory(c_bytes_ * copies);
  verification::fill(fill, seed, d.types.input, d.m, d.k, d.a, d.batch_count, a_.data(), verification::Part::a);
  verification::fill(fill, seed, d.types.input_b, d.k, d.n, d.b, d.batch_count, b_.data(), verification::Part::b);
  repeat(a_, a_bytes_, copies);
  repeat(b_, b_bytes_, copies);
}

GemmArguments Operands::arguments(std::int64_t index) const {
  const Offsets at = offsets(index);
  return {.a = a_.data() + at.a, .b = b_.data() + at.b, .c = c_.data() + at.c};
}

Operands::Offsets Operands::offsets(std::int64_t index) const {
  const std::int64_t copy = index % copies_;
  return {copy * a_bytes_, copy * b_bytes_, copy * c_bytes_};
}

void Operands::poison_output() {
  // All bits set is a NaN in every floating type there is.
  std::memset(c_.data(), 0xff, static_cast<std::size_t>(c_.size()));
}

}  // namespace exactile::program
