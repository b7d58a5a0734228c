// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "staging/device.hpp"
#include "staging/tiling.hpp"

namespace exactile::staging {

/// What the host's pointers of one run point to.
struct OperandMemory {
  bool is_pinned = false;
};
struct Operands {
  OperandMemory a;
  OperandMemory b;
  OperandMemory c;
  [[nodiscard]] bool all_pinned() const { return a.is_pinned && b.is_pinned && c.is_pinned; }
};

/// Refuses device memory, which the caller must announce with Memory::device.
[[nodiscard]] Result<Operands> look_at(const HostProduct& product, const GemmArguments& arguments, Device& device);

/// Whether the device had better copy such a region by itself where its memory is pinned: whole lines, and not too
/// short ones. Other strides are gathered by the host.
[[nodiscard]] bool goes_directly(const HostOperand& operand, const Region& region);

/// The pieces of a region that the device can copy by itself: one a product.
template <class Move>
[[nodiscard]] Status for_each_product(const HostOperand& operand, const void* data, const Region& region, Copy copy,
                                      const Move& move) {
  const Image image = operand.image(region);
  copy.device_pitch = image.pitch;
  copy.host_pitch = image.lines_per_product > 1 ? operand.line_stride_bytes() : image.line_bytes;
  copy.line_bytes = image.line_bytes;
  copy.lines = image.lines_per_product;
  for (std::int64_t product = 0; product < image.products; ++product) {
    if (Status s = move(copy, operand.line(data, region, product * image.lines_per_product)); !s.ok()) return s;
    copy.device_offset += image.pitch * image.lines_per_product;
  }
  return {};
}

}  // namespace exactile::staging
