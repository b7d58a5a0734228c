// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/aligned_memory.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::plan {

/// Operands of a problem that belong to nobody, laid out as the problem says, in host memory or a context's. All bytes
/// are alike, so that every type reads ordinary numbers: products of them take as long as others.
class ScratchOperands {
 public:
  /// `context` where the problem's memory is the device's, else null. Fails with out_of_memory, also where the operands
  /// would take more than half of the memory that is free, and with unsupported for arrays of pointers.
  [[nodiscard]] static Result<std::unique_ptr<ScratchOperands>> make(const Problem& problem, DeviceContext* context);
  ScratchOperands(const ScratchOperands&) = delete;
  ScratchOperands& operator=(const ScratchOperands&) = delete;
  ~ScratchOperands();

  /// alpha = 1, beta = 0.
  [[nodiscard]] const GemmArguments& arguments() const { return arguments_; }

 private:
  explicit ScratchOperands(DeviceContext* context) : context_(context) {}
  /// The first element of an operand whose bytes lie there relative to it.
  [[nodiscard]] Result<void*> place(std::int64_t low, std::int64_t high);

  DeviceContext* context_;
  std::vector<core::AlignedMemory> on_host_;
  std::vector<void*> on_device_;
  GemmArguments arguments_;
};

}  // namespace exactile::plan
