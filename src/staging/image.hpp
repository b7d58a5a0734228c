// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a block of a matrix lies in device memory and in the pinned ring: as lines of neighbouring elements, each at an
/// aligned pitch, whatever strides the host's matrix has.
#pragma once

#include <cstdint>

#include "exactile/plan.hpp"

namespace exactile::staging {

/// These rows and columns of these products.
struct Region {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;
  std::int64_t product = 0;
  std::int64_t products = 1;
};

/// A block's lines, product after product.
struct Image {
  std::int64_t line_bytes = 0;
  std::int64_t pitch = 0;
  std::int64_t lines_per_product = 0;
  std::int64_t products = 1;

  [[nodiscard]] std::int64_t lines() const { return lines_per_product * products; }
  [[nodiscard]] std::int64_t bytes() const { return pitch * lines(); }
};

/// A part of an image that is moved at once: whole lines, or a piece of one line that is too long.
struct Chunk {
  std::int64_t first_line = 0;
  std::int64_t lines = 1;
  std::int64_t first_byte = 0;  ///< in its line
  std::int64_t line_bytes = 0;
  std::int64_t offset = 0;  ///< in the image
  std::int64_t bytes = 0;   ///< as it lies in the image, without what pads the last line
};

[[nodiscard]] std::int64_t chunk_count(const Image& image, std::int64_t chunk_bytes);
[[nodiscard]] Chunk chunk_of(const Image& image, std::int64_t chunk_bytes, std::int64_t index);

/// One operand of a product, as the host has it.
class HostOperand {
 public:
  HostOperand(const OperandLayout& layout, std::int64_t rows, std::int64_t columns, ElementType type);

  [[nodiscard]] const OperandLayout& layout() const { return layout_; }
  [[nodiscard]] std::int64_t element_bytes() const { return element_bytes_; }
  /// Whether one matrix serves all products.
  [[nodiscard]] bool is_shared() const { return !layout_.pointer_array && layout_.batch_stride == 0; }
  /// Whether the elements of a line are neighbours on the host too.
  [[nodiscard]] bool has_unit_stride() const { return element_stride_ == 1; }
  /// From line to line on the host, in bytes; may be anything.
  [[nodiscard]] std::int64_t line_stride_bytes() const { return line_stride_ * element_bytes_; }

  [[nodiscard]] Image image(const Region& region) const;
  /// Strides of a region's image as a kernel gets them.
  [[nodiscard]] OperandLayout device_layout(const Region& region) const;
  /// The first element of one of the region's lines.
  [[nodiscard]] const char* line(const void* data, const Region& region, std::int64_t line) const;

  /// From the host's strides into the image, and back. `image_chunk` is where the chunk begins in the ring. Both touch
  /// nothing but elements of the region.
  void gather(const void* data, const Region& region, const Chunk& chunk, char* image_chunk) const;
  void scatter(const char* image_chunk, const Region& region, const Chunk& chunk, void* data) const;

 private:
  template <class Move>
  void for_each_run(const void* data, const Region& region, const Chunk& chunk, const Move& move) const;

  OperandLayout layout_;
  std::int64_t element_bytes_;
  bool lines_are_rows_;
  std::int64_t line_stride_;
  std::int64_t element_stride_;
};

}  // namespace exactile::staging
