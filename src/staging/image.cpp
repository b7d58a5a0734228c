// SPDX-License-Identifier: Apache-2.0
#include "staging/image.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "core/checked.hpp"

namespace exactile::staging {
namespace {

/// Long lines start where a memory transaction starts; short ones, of which there may be many, waste little.
std::int64_t pitch_of(std::int64_t line_bytes) { return core::round_up(line_bytes, line_bytes >= 1024 ? 128 : 16); }

bool takes_rows_as_lines(const OperandLayout& layout, std::int64_t rows, std::int64_t columns) {
  if (rows == 1 || columns == 1) return rows == 1;
  if (layout.column_stride == 1 || layout.row_stride == 1) return layout.column_stride == 1;
  return std::abs(layout.column_stride) <= std::abs(layout.row_stride);
}

/// `count` elements of `Bytes` bytes between a dense line and a strided one; strides in bytes.
template <std::size_t Bytes>
void copy_strided(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, Bytes);
}

void copy_elements(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t count,
                   std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1: return copy_strided<1>(to, to_stride, from, from_stride, count);
    case 2: return copy_strided<2>(to, to_stride, from, from_stride, count);
    case 4: return copy_strided<4>(to, to_stride, from, from_stride, count);
    case 8: return copy_strided<8>(to, to_stride, from, from_stride, count);
    default: return copy_strided<16>(to, to_stride, from, from_stride, count);
  }
}

}  // namespace

std::int64_t chunk_count(const Image& image, std::int64_t chunk_bytes) {
  if (image.pitch > chunk_bytes) return image.lines() * core::ceil_divide(image.line_bytes, chunk_bytes);
  return core::ceil_divide(image.lines(), chunk_bytes / image.pitch);
}

Chunk chunk_of(const Image& image, std::int64_t chunk_bytes, std::int64_t index) {
  Chunk chunk;
  if (image.pitch > chunk_bytes) {
    const std::int64_t pieces = core::ceil_divide(image.line_bytes, chunk_bytes);
    chunk.first_line = index / pieces;
    chunk.first_byte = index % pieces * chunk_bytes;
    chunk.line_bytes = std::min(chunk_bytes, image.line_bytes - chunk.first_byte);
  } else {
    const std::int64_t lines = chunk_bytes / image.pitch;
    chunk.first_line = index * lines;
    chunk.lines = std::min(lines, image.lines() - chunk.first_line);
    chunk.line_bytes = image.line_bytes;
  }
  chunk.offset = chunk.first_line * image.pitch + chunk.first_byte;
  chunk.bytes = (chunk.lines - 1) * image.pitch + chunk.line_bytes;
  return chunk;
}

HostOperand::HostOperand(const OperandLayout& layout, std::int64_t rows, std::int64_t columns, ElementType type)
    : layout_(layout),
      element_bytes_(size_in_bytes(type)),
      lines_are_rows_(takes_rows_as_lines(layout, rows, columns)),
      line_stride_(lines_are_rows_ ? layout.row_stride : layout.column_stride),
      element_stride_(lines_are_rows_ ? layout.column_stride : layout.row_stride) {}

Image HostOperand::image(const Region& region) const {
  const std::int64_t line_bytes = (lines_are_rows_ ? region.columns : region.rows) * element_bytes_;
  return {.line_bytes = line_bytes,
          .pitch = pitch_of(line_bytes),
          .lines_per_product = lines_are_rows_ ? region.rows : region.columns,
          .products = is_shared() ? 1 : region.products};
}

OperandLayout HostOperand::device_layout(const Region& region) const {
  const Image block = image(region);
  const std::int64_t line_stride = block.pitch / element_bytes_;
  return {.row_stride = lines_are_rows_ ? line_stride : 1,
          .column_stride = lines_are_rows_ ? 1 : line_stride,
          .batch_stride = is_shared() ? 0 : line_stride * block.lines_per_product,
          .conjugate = layout_.conjugate};
}

const char* HostOperand::line(const void* data, const Region& region, std::int64_t line) const {
  const std::int64_t lines = lines_are_rows_ ? region.rows : region.columns;
  const std::int64_t product = region.product + line / lines;
  const auto* base = layout_.pointer_array
                         ? static_cast<const char*>(static_cast<const void* const*>(data)[product])
                         : static_cast<const char*>(data) + product * layout_.batch_stride * element_bytes_;
  return base +
         (region.row * layout_.row_stride + region.column * layout_.column_stride + line % lines * line_stride_) *
             element_bytes_;
}

/// Calls move(host, image offset, bytes) for pieces that are dense on both sides.
template <class Move>
void HostOperand::for_each_run(const void* data, const Region& region, const Chunk& chunk, const Move& move) const {
  const Image block = image(region);
  const bool lines_touch =
      has_unit_stride() && chunk.lines > 1 && block.pitch == block.line_bytes && line_stride_bytes() == block.pitch;
  std::int64_t done = 0;
  while (done < chunk.lines) {
    const std::int64_t first = chunk.first_line + done;
    const std::int64_t left = block.lines_per_product - first % block.lines_per_product;
    const std::int64_t lines = lines_touch ? std::min(left, chunk.lines - done) : 1;
    move(line(data, region, first) + chunk.first_byte / element_bytes_ * element_stride_ * element_bytes_,
         done * block.pitch, (lines - 1) * block.pitch + chunk.line_bytes);
    done += lines;
  }
}

void HostOperand::gather(const void* data, const Region& region, const Chunk& chunk, char* image_chunk) const {
  const std::int64_t stride = element_stride_ * element_bytes_;
  for_each_run(data, region, chunk, [&](const char* host, std::int64_t offset, std::int64_t bytes) {
    if (has_unit_stride())
      std::memcpy(image_chunk + offset, host, static_cast<std::size_t>(bytes));
    else
      copy_elements(image_chunk + offset, element_bytes_, host, stride, bytes / element_bytes_, element_bytes_);
  });
}

void HostOperand::scatter(const char* image_chunk, const Region& region, const Chunk& chunk, void* data) const {
  const std::int64_t stride = element_stride_ * element_bytes_;
  for_each_run(data, region, chunk, [&](const char* host, std::int64_t offset, std::int64_t bytes) {
    auto* to = const_cast<char*>(host);
    if (has_unit_stride())
      std::memcpy(to, image_chunk + offset, static_cast<std::size_t>(bytes));
    else
      copy_elements(to, stride, image_chunk + offset, element_bytes_, bytes / element_bytes_, element_bytes_);
  });
}

}  // namespace exactile::staging
