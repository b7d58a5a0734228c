// SPDX-License-Identifier: Apache-2.0
/// \file
/// An operand of the sm80 family: read where it lies, along K or across, if it is aligned; else laid out anew.
#pragma once

#include "cuda/tile/transposed_copy.hpp"

namespace exactile::cuda::sm80 {

/// A, or the transpose of B: `vectors` rows (columns of B) of k elements.
class OperandPlan {
 public:
  /// `packs`: is copied if its elements of 16 bits could be read only one by one.
  OperandPlan(const OperandLayout& layout, ElementType type, std::int64_t vectors, std::int64_t k, bool packs);

  /// Whether it can be read where it lies, at a suitable address or at this one.
  [[nodiscard]] bool may_stay() const { return width_ > 0; }
  [[nodiscard]] bool stays(const void* data) const { return width(data) > 0; }
  /// Of the copies that some addresses need.
  [[nodiscard]] std::int64_t most_copied_bytes() const { return width_ == 2 ? 0 : product_bytes(); }
  /// Bytes that lie at multiples of themselves: 16, 8 or 4; or the elements of 16 bits; else 0.
  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int width(const void* data) const;
  /// Whether vectors that stay lie side by side, not along K.
  [[nodiscard]] bool lies_across() const { return across_; }
  /// Of the copy of one product.
  [[nodiscard]] std::int64_t product_bytes() const { return copy_.product_bytes(); }
  /// Elements from vector to vector and from product to product.
  [[nodiscard]] std::int64_t vector_stride(bool is_copied) const {
    return is_copied ? copy_.pitch : across_ ? layout_.column_stride : layout_.row_stride;
  }
  [[nodiscard]] std::int64_t batch_stride(bool is_copied) const {
    return is_copied ? copy_.layout().batch_stride : layout_.batch_stride;
  }
  [[nodiscard]] const OperandLayout& layout() const { return layout_; }
  [[nodiscard]] Status copy(const void* data, void* to, std::int64_t products, cudaStream_t stream,
                            std::string_view kernel) const {
    return copy_.launch(data, to, products, stream, kernel);
  }

 private:
  OperandLayout layout_;
  TransposedCopy copy_;
  bool across_;
  int width_;
};

}  // namespace exactile::cuda::sm80
