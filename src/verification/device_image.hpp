// SPDX-License-Identifier: Apache-2.0
/// \file
/// The operands of a case in the memory of a device.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "exactile/context.hpp"
#include "verification/guarded_operand.hpp"

namespace exactile::verification {

/// A guarded operand's whole body, pattern and all, copied to a device: what a kernel writes beside the elements is
/// found there as it is in host memory.
class DeviceImage {
 public:
  [[nodiscard]] static Result<DeviceImage> make(const Context& context, const GuardedOperand& operand);

  /// What GemmArguments takes: the first element, or the array of pointers.
  [[nodiscard]] void* argument() const;
  /// Copies the body back into the operand.
  [[nodiscard]] Status download(GuardedOperand& operand) const;

 private:
  DeviceImage(DeviceMemory body, std::int64_t first) : body_(std::move(body)), first_(first) {}

  DeviceMemory body_;
  std::optional<DeviceMemory> pointers_;  ///< the array, where it lies on the device
  std::vector<void*> host_pointers_;      ///< the array, where it stays with the host: OpenCL's, see interop/opencl.hpp
  std::int64_t first_;                    ///< offset of element (0, 0) of product 0
};

}  // namespace exactile::verification
