// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/aligned_memory.hpp"
#include "plan/kernel_entry.hpp"
#include "plan/overlap.hpp"

namespace exactile::plan {

/// Operands of a problem that belong to nobody, laid out as the problem says, in host memory or a context's. All bytes
/// are alike, so that every type reads ordinary numbers: products of them take as long as others.
class ScratchOperands {
 public:
  /// `context` where the problem's memory is the device's, else null. So many copies that together they have
  /// `cold_bytes`, or one. Fails with out_of_memory, also where the operands would take more than half of the memory
  /// that is free, and with unsupported for arrays of pointers.
  [[nodiscard]] static Result<std::unique_ptr<ScratchOperands>> make(const Problem& problem, DeviceContext* context,
                                                                     double cold_bytes);
  ScratchOperands(const ScratchOperands&) = delete;
  ScratchOperands& operator=(const ScratchOperands&) = delete;
  ~ScratchOperands();

  /// alpha = 1, beta = 0; of one copy after the other.
  [[nodiscard]] const GemmArguments& next() { return copies_[turn_++ % copies_.size()]; }

 private:
  ScratchOperands(DeviceContext* context, std::size_t copies) : context_(context), copies_(copies) {}
  /// Memory for an operand of every copy, whose bytes lie there relative to its first element.
  template <class Pointer>
  [[nodiscard]] Status place(Pointer GemmArguments::*operand, const Hull& hull);

  DeviceContext* context_;
  std::vector<core::AlignedMemory> on_host_;
  std::vector<void*> on_device_;
  std::vector<GemmArguments> copies_;
  std::size_t turn_ = 0;
};

}  // namespace exactile::plan
