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

}  // namespace exactile::staging
