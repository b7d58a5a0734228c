// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a product to the arguments and compile options that kernels/element.cl prescribes.
#pragma once

#include <fmt/format.h>

#include "opencl/kernel.hpp"

namespace exactile::opencl {

/// K is cut into chunks of this many terms in every engine kernel. Within a chunk an element's terms are added in their
/// order, and the chunks' sums are too; so the bits depend on the product alone, not on kernel, tile or batch.
inline constexpr std::int64_t chunk_terms = 4096;

/// "-D INPUT_f32 -D OUTPUT_f32 -D FUSED ...": what every program of such a product is compiled with.
[[nodiscard]] std::string element_options(const GemmDescription& description, const Device& device);

/// As BLAS has it, with C's columns contiguous where one of its directions is: else C^T = B^T A^T is what is done.
[[nodiscard]] GemmDescription with_contiguous_columns(const GemmDescription& description, bool* swapped);

/// The operands that go with a description whose sides were swapped.
[[nodiscard]] Launch oriented(const Launch& launch, bool swapped);

/// What element.cl calls flags: whether C is read, a bias added, and so on.
[[nodiscard]] cl_int store_flags(const GemmDescription& description, const Launch& launch);

/// One call of a kernel: arguments in their order, then the launch.
class Call {
 public:
  explicit Call(Loan<Program, cl_kernel> kernel) : kernel_(std::move(kernel)) {}

  void add_bytes(const void* data, std::size_t bytes);
  template <class T>
  void add(const T& value) {
    add_bytes(&value, sizeof value);
  }
  /// alpha or beta in the type that sums.
  void add_scalar(const Scalar& value, ElementType accumulator);
  /// buffer, offset and strides; `product` of the batch is where it starts.
  void add_operand(const BufferSpan& span, const OperandLayout& layout, ElementType type, std::int64_t product = 0);
  /// C, alpha, beta, bias, scales, flags.
  void add_output(const Launch& launch, const GemmDescription& description, std::int64_t product = 0);

  [[nodiscard]] Status enqueue(cl_command_queue queue, std::int64_t groups, std::int64_t items_of_group,
                               std::string_view name);

 private:
  Loan<Program, cl_kernel> kernel_;
  cl_uint count_ = 0;
  cl_int error_ = CL_SUCCESS;
};

[[nodiscard]] Result<Call> make_call(Runtime& runtime, std::string_view source, const std::string& function,
                                     const std::string& options);

/// Traffic of tiles of `rows` x `columns`: each reads its strips of A and B once.
[[nodiscard]] double tile_traffic(const GemmDescription& description, std::int64_t rows, std::int64_t columns);

}  // namespace exactile::opencl
