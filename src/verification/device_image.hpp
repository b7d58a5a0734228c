// SPDX-License-Identifier: Apache-2.0
/// \file
/// The operands of a case in the memory of a device.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "exactile/context.hpp"
#include "verification/guarded_operand.hpp"

namespace exactile::verification {

/// The whole bodies of guarded operands, pattern and all, one behind another in device memory: what a kernel writes
/// beside the elements is found there as it is in host memory. One copy moves all of them, either way.
class DeviceImage {
 public:
  /// `memory` is taken where it suffices, else allocated anew; `margin`: bytes of the pattern before the first body and
  /// behind the last one.
  [[nodiscard]] static Result<DeviceImage> make(const Context& context, std::span<GuardedOperand* const> operands,
                                                std::optional<DeviceMemory> memory, std::int64_t margin);

  /// What GemmArguments takes for each operand: the first element, or the array of pointers.
  [[nodiscard]] std::vector<void*> arguments();
  /// Copies the bodies back into the operands.
  [[nodiscard]] Status download();
  /// For the next image.
  [[nodiscard]] DeviceMemory memory() && { return std::move(*memory_); }

 private:
  /// One operand's.
  struct Place {
    GuardedOperand* operand;
    std::vector<void*> pointers = {};  ///< of a pointer array
    std::int64_t array = 0;            ///< that array's offset in the memory, if it lies there
    std::int64_t body = 0;             ///< that of the body
  };

  DeviceImage(std::span<GuardedOperand* const> operands, bool keeps_arrays, std::int64_t margin);
  [[nodiscard]] Status upload();

  bool keeps_arrays_;  ///< of pointers in host memory: OpenCL's, see interop/opencl.hpp
  std::vector<Place> places_;
  std::vector<std::byte> bytes_;  ///< what the memory holds
  std::optional<DeviceMemory> memory_;
};

}  // namespace exactile::verification
