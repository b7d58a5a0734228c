// SPDX-License-Identifier: Apache-2.0
/// \file
/// The plain loop, readable and for every type: what a product means. Also the write-ups' `cpu_naive`.
#pragma once

#include <cstdint>

#include "exactile/plan.hpp"

namespace exactile::reference {

/// Rows [row_begin, row_end) of product number `product` of the batch: C <- activation(alpha*A*B + beta*C + bias),
/// rows of A and columns of B scaled where the description says so, three nested loops. Real floats are summed in one
/// double, integers modulo 2^w, complex numbers in complex<double>. alpha and k must not be zero; that is scale()'s
/// work.
void naive_rows(const GemmDescription& description, const GemmArguments& arguments, std::int64_t product,
                std::int64_t row_begin, std::int64_t row_end);

/// The whole batch of C <- activation(beta*C + bias), for alpha = 0 or k = 0. A and B are not touched; with beta = 0
/// neither is the old C.
void scale(const GemmDescription& description, const GemmArguments& arguments);

/// The elements of C to their places in D, for the whole batch; the description has a layout of D.
void copy_c_to_d(const GemmDescription& description, const void* c, void* d);

/// Where product number `product` of an operand starts; `size` is the element's size in bytes.
[[nodiscard]] inline const void* product_base(const void* data, const OperandLayout& layout, std::int64_t product,
                                              std::int64_t size) noexcept {
  if (layout.pointer_array) return static_cast<const void* const*>(data)[product];
  return static_cast<const char*>(data) + product * layout.batch_stride * size;
}
[[nodiscard]] inline void* product_base(void* data, const OperandLayout& layout, std::int64_t product,
                                        std::int64_t size) noexcept {
  return const_cast<void*>(product_base(static_cast<const void*>(data), layout, product, size));
}

}  // namespace exactile::reference
