// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operands in host memory made into buffers: in place on a CPU device, copied for any other.
#pragma once

#include <array>
#include <vector>

#include "exactile/interop/opencl.hpp"
#include "opencl/runtime/runtime.hpp"

namespace exactile::opencl {

/// One operand of one run: where its first element is, its extents and how it is stored.
struct HostOperand {
  void* data = nullptr;  ///< element (0, 0), or the array of pointers; null: there is no such operand
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  OperandLayout layout = {};
  ElementType type = ElementType::f32;
};

/// How a copy of an operand lies in device memory: dense, in the order that its elements have in host memory.
[[nodiscard]] OperandLayout copied_layout(const OperandLayout& layout, std::int64_t rows, std::int64_t columns);

/// Buffers on the caller's own memory. Operands that meet in memory share one, as OpenCL demands.
class InPlaceOperands {
 public:
  explicit InPlaceOperands(Runtime& runtime) : runtime_(runtime) {}
  InPlaceOperands(const InPlaceOperands&) = delete;
  InPlaceOperands& operator=(const InPlaceOperands&) = delete;
  ~InPlaceOperands();

  /// Single matrices or strided batches; no pointer arrays. Called once.
  [[nodiscard]] Status map(std::span<const HostOperand> operands, std::int64_t batch_count);
  [[nodiscard]] const BufferSpan& span(std::size_t operand) const { return spans_[operand]; }
  /// After the work: makes what the device wrote into the operand visible to the host, which on a CPU costs nothing.
  [[nodiscard]] Status show(cl_command_queue queue, std::size_t operand) const;

 private:
  struct Region {
    const char* begin = nullptr;
    const char* end = nullptr;
    cl_mem memory = nullptr;
  };
  Runtime& runtime_;
  std::vector<Region> regions_;
  std::vector<BufferSpan> spans_;
};

/// A copy of an operand in device memory.
class CopiedOperand {
 public:
  CopiedOperand(Runtime& runtime, const HostOperand& operand, std::int64_t batch_count)
      : runtime_(runtime), operand_(operand), count_(batch_count) {}
  CopiedOperand(const CopiedOperand&) = delete;
  CopiedOperand& operator=(const CopiedOperand&) = delete;
  ~CopiedOperand();

  [[nodiscard]] Status allocate(std::string_view name);
  /// Both return when the copy is done, after all work enqueued before.
  [[nodiscard]] Status upload(cl_command_queue queue) const;
  [[nodiscard]] Status download(cl_command_queue queue) const;
  [[nodiscard]] BufferSpan span() const { return {memory_, 0}; }

 private:
  [[nodiscard]] std::int64_t copies() const;
  [[nodiscard]] char* host_matrix(std::int64_t product) const;
  template <class Rect>
  [[nodiscard]] Status each_matrix(cl_command_queue queue, const Rect& move_rectangle) const;

  Runtime& runtime_;
  HostOperand operand_;
  std::int64_t count_;
  cl_mem memory_ = nullptr;
};

}  // namespace exactile::opencl
