// SPDX-License-Identifier: Apache-2.0
/// \file
/// What an OpenCL kernel family tells the kernel list about itself. A family's file knows this, the runtime, and
/// nothing of where a caller's operands lie.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "exactile/interop/opencl.hpp"
#include "opencl/runtime/runtime.hpp"
#include "plan/problem.hpp"
#include "tuning/table/parameters.hpp"

namespace exactile::opencl {

/// One run on operands in device memory; alpha is not 0, k is not 0 and C is not empty. No operand is an array of
/// pointers: the caller of launch() has made single products or strides of them.
struct Launch {
  Runtime& runtime;
  cl_command_queue queue = nullptr;
  BufferSpan a = {};
  BufferSpan b = {};
  BufferSpan c = {};
  BufferSpan bias = {};
  BufferSpan row_scales = {};
  BufferSpan column_scales = {};
  bool is_swapped = false;  ///< by oriented(): A, B and the scales have changed places
  Scalar alpha = 1;
  Scalar beta = 0;

  /// Uninitialised memory for this run; may go back as soon as the work is enqueued.
  [[nodiscard]] Result<Loan<Runtime, Scratch>> scratch(std::int64_t bytes) const {
    return runtime.scratch(bytes, queue);
  }
};

/// A product made ready. launch() only enqueues on the (in-order) queue; the first one may compile.
class DeviceProduct {
 public:
  virtual ~DeviceProduct() = default;
  [[nodiscard]] virtual Status launch(const Launch& launch) const = 0;
  [[nodiscard]] virtual std::string blocking() const = 0;
  [[nodiscard]] virtual std::int64_t workspace_bytes() const { return 0; }
  [[nodiscard]] virtual double model_bytes() const = 0;
};

/// What can be tuned in a kernel. `why_illegal` is asked before anything is compiled.
struct Tunable {
  int version = 1;  ///< rises whenever measured rows of the kernel mean nothing any more
  tuning::Space (*space)(const Device&, GemmTypes);
  std::string_view (*why_illegal)(const tuning::Parameters&, const Device&, GemmTypes);
};

struct Kernel {
  std::string_view name;
  std::string_view role;  ///< "ladder" or "engine", as in plan::KernelEntry
  std::string_view summary;
  std::span<const GemmTypes> types;
  /// Why this kernel cannot do this problem (whose types are among `types`); empty if it can.
  std::string_view (*refuses)(const plan::Problem&, const Device&);
  /// Estimated seconds.
  double (*cost)(const plan::Problem&, const Device&);
  std::unique_ptr<DeviceProduct> (*prepare)(const plan::Problem&, const Device&);
  const Tunable* tunable = nullptr;
  bool conjugates = false;  ///< as in plan::KernelEntry
  bool certifies = false;   ///< as in plan::KernelEntry
};

}  // namespace exactile::opencl
