// SPDX-License-Identifier: Apache-2.0
#include "array_product.hpp"

#include <algorithm>
#include <utility>

#include "units.hpp"

namespace exactile::program {
namespace {

/// 2^20 pointers to A and as many to B are 16 MiB.
constexpr std::int64_t most_pointers = std::int64_t{1} << 20;

OperandLayout layout_of(const ProductShape& shape, const OperandWalk& walk) {
  const auto stride = single_stride(shape.batch, walk.batch_strides);
  return {.row_stride = walk.row_stride,
          .column_stride = walk.column_stride,
          .batch_stride = stride.value_or(0),
          .pointer_array = !stride.has_value()};
}

/// The element where product number `index` (in C order) begins.
std::int64_t offset_of(const ProductShape& shape, const OperandWalk& walk, std::int64_t index) {
  std::int64_t offset = 0;
  for (std::size_t i = shape.batch.size(); i-- > 0;) {
    offset += index % shape.batch[i] * walk.batch_strides[i];
    index /= shape.batch[i];
  }
  return offset;
}

/// What GemmArguments takes for one operand; the pointers, if any, live in `pointers`.
const void* operand(const ProductShape& shape, const OperandWalk& walk, const OperandLayout& layout,
                    const std::byte* data, std::int64_t element_size, std::int64_t first, std::int64_t count,
                    std::vector<const void*>& pointers) {
  if (!layout.pointer_array) return data + first * layout.batch_stride * element_size;
  pointers.clear();
  for (std::int64_t p = first; p < first + count; ++p)
    pointers.push_back(data + offset_of(shape, walk, p) * element_size);
  return pointers.data();
}

}  // namespace

ArrayProduct::ArrayProduct(ProductShape shape, GemmTypes types, const std::byte* a, const std::byte* b)
    : shape_(std::move(shape)),
      types_(types),
      a_(a),
      b_(b),
      a_layout_(layout_of(shape_, shape_.a)),
      b_layout_(layout_of(shape_, shape_.b)) {
  const bool by_pointers = a_layout_.pointer_array || b_layout_.pointer_array;
  products_per_call_ = by_pointers ? std::min(shape_.batch_count, most_pointers) : shape_.batch_count;
}

GemmDescription ArrayProduct::description_of(std::int64_t products) const {
  const std::int64_t elements = product_of_sizes(shape_.m, shape_.n, "m * n");
  return {.types = types_,
          .m = shape_.m,
          .n = shape_.n,
          .k = shape_.k,
          .a = a_layout_,
          .b = b_layout_,
          .c = {.row_stride = std::max<std::int64_t>(shape_.n, 1),
                .column_stride = 1,
                .batch_stride = std::max<std::int64_t>(elements, 1)},
          .batch_count = products};
}

GemmDescription ArrayProduct::description() const { return description_of(products_per_call_); }

void ArrayProduct::for_each_call(std::byte* c, const Run& run) const {
  const std::int64_t out_size = size_in_bytes(types_.output);
  std::vector<const void*> a_pointers;
  std::vector<const void*> b_pointers;
  for (std::int64_t first = 0; first < shape_.batch_count; first += products_per_call_) {
    const std::int64_t count = std::min(products_per_call_, shape_.batch_count - first);
    const std::int64_t before = first * shape_.m * shape_.n;
    GemmArguments arguments;
    arguments.a = operand(shape_, shape_.a, a_layout_, a_, size_in_bytes(types_.input), first, count, a_pointers);
    arguments.b = operand(shape_, shape_.b, b_layout_, b_, size_in_bytes(types_.input_b), first, count, b_pointers);
    arguments.c = c + before * out_size;
    run(description_of(count), arguments, before);
  }
}

}  // namespace exactile::program
