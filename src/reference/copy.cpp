// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include "core/type_dispatch.hpp"
#include "reference/naive.hpp"

namespace exactile::reference {
namespace {

template <class T>
void copy_matrix(std::int64_t rows, std::int64_t columns, const OperandLayout& from_layout, const T* from,
                 const OperandLayout& to_layout, T* to) {
  const bool has_whole_rows = from_layout.column_stride == 1 && to_layout.column_stride == 1;
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* from_row = from + i * from_layout.row_stride;
    T* to_row = to + i * to_layout.row_stride;
    if (has_whole_rows) {
      std::memcpy(to_row, from_row, static_cast<std::size_t>(columns) * sizeof(T));
      continue;
    }
    for (std::int64_t j = 0; j < columns; ++j)
      to_row[j * to_layout.column_stride] = from_row[j * from_layout.column_stride];
  }
}

OperandLayout turned(OperandLayout layout) {
  std::swap(layout.row_stride, layout.column_stride);
  return layout;
}

}  // namespace

void copy_c_to_d(const GemmDescription& description, const void* c, void* d) {
  OperandLayout from = description.c;
  OperandLayout to = *description.d;
  std::int64_t rows = description.m;
  std::int64_t columns = description.n;
  if (to.row_stride < to.column_stride) {  // the shorter step is the inner one
    std::swap(rows, columns);
    from = turned(from);
    to = turned(to);
  }
  core::with_operand_types(description.types, [&]<class A, class B, class Out>() {
    for (std::int64_t product = 0; product < description.batch_count; ++product) {
      const auto* source = static_cast<const Out*>(product_base(c, from, product, sizeof(Out)));
      auto* target = static_cast<Out*>(product_base(d, to, product, sizeof(Out)));
      if (source != target) copy_matrix(rows, columns, from, source, to, target);
    }
  });
}

}  // namespace exactile::reference
