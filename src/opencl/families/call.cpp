// SPDX-License-Identifier: Apache-2.0
#include "opencl/families/call.hpp"

#include <complex>
#include <utility>

#include "core/checked.hpp"
#include "plan/column_major.hpp"
#include "plan/transposed.hpp"

namespace exactile::opencl {
namespace {

enum StoreFlags : cl_int {
  reads_c = 1,
  bias_per_row = 2,
  bias_per_column = 4,
  relu = 8,
  scale_rows = 16,
  scale_columns = 32,
  columns_first = 64,  ///< of the scales, where columns are the caller's rows
};

}  // namespace

cl_int store_flags(const GemmDescription& d, const Launch& launch) {
  cl_int flags = 0;
  if (!launch.beta.is_zero()) flags |= reads_c;
  if (d.bias == Bias::per_row) flags |= bias_per_row;
  if (d.bias == Bias::per_column) flags |= bias_per_column;
  if (d.activation == Activation::relu) flags |= relu;
  if (d.row_scales) flags |= scale_rows;
  if (d.column_scales) flags |= scale_columns;
  if (launch.is_swapped) flags |= columns_first;
  return flags;
}

std::string element_options(const GemmDescription& d, const Device& device) {
  const ElementType sum = accumulator_type(d.types.input);
  const bool is_double = sum == ElementType::f64 || sum == ElementType::cf64;
  return fmt::format("-cl-std=CL1.2 -D INPUT_{} -D OUTPUT_{}{}{}", to_string(d.types.input), to_string(d.types.output),
                     (is_double ? device.fuses_f64 : device.fuses_f32) ? " -D FUSED" : "",
                     d.activation == Activation::gelu ? " -D GELU" : "");
}

GemmDescription with_contiguous_columns(const GemmDescription& d, bool* swapped) {
  *swapped = plan::is_column_major(d);
  return *swapped ? plan::transposed(d) : d;
}

Launch oriented(const Launch& launch, bool swapped) {
  Launch turned = launch;
  turned.is_swapped = swapped;
  if (swapped) {
    std::swap(turned.a, turned.b);
    std::swap(turned.row_scales, turned.column_scales);
  }
  return turned;
}

void Call::add_bytes(const void* data, std::size_t bytes) {
  const cl_int error = api()->clSetKernelArg(kernel_.get(), count_++, bytes, data);
  if (error_ == CL_SUCCESS) error_ = error;
}

void Call::add_scalar(const Scalar& value, ElementType accumulator) {
  switch (accumulator) {
    case ElementType::f64: return add(value.as<double>());
    case ElementType::i64: return add(value.as<std::int64_t>());
    case ElementType::i32: return add(value.as<std::int32_t>());
    case ElementType::cf64: return add(value.as<std::complex<double>>());
    case ElementType::cf32: return add(value.as<std::complex<float>>());
    default: return add(value.as<float>());
  }
}

void Call::add_operand(const BufferSpan& span, const OperandLayout& layout, ElementType type, std::int64_t product) {
  add(span.memory);
  add(cl_long{span.byte_offset / size_in_bytes(type) + product * layout.batch_stride});
  add(cl_long{layout.row_stride});
  add(cl_long{layout.column_stride});
  add(cl_long{layout.batch_stride});
}

void Call::add_output(const Launch& launch, const GemmDescription& d, std::int64_t product) {
  const ElementType sum = accumulator_type(d.types.input);
  add_operand(launch.c, d.c, d.types.output, product);
  add_scalar(launch.alpha, sum);
  add_scalar(launch.beta, sum);
  const auto add_vector = [&](const BufferSpan& span, ElementType type) {
    add(span.memory);
    add(cl_long{span.byte_offset / size_in_bytes(type)});
  };
  add_vector(launch.bias, d.types.output);
  add_vector(launch.row_scales, sum);
  add_vector(launch.column_scales, sum);
  add(store_flags(d, launch));
}

Status Call::enqueue(cl_command_queue queue, std::int64_t groups, std::int64_t items_of_group, std::string_view name) {
  if (Status s = check(error_, "clSetKernelArg", name); !s.ok()) return s;
  const auto local = static_cast<std::size_t>(items_of_group);
  const auto global = static_cast<std::size_t>(groups) * local;
  return check(api()->clEnqueueNDRangeKernel(queue, kernel_.get(), 1, nullptr, &global, &local, 0, nullptr, nullptr),
               "clEnqueueNDRangeKernel", name);
}

Result<Call> make_call(Runtime& runtime, std::string_view source, const std::string& function,
                       const std::string& options) {
  Result<Program*> program = runtime.program(source, function, options);
  if (!program.ok()) return program.status();
  Result<Loan<Program, cl_kernel>> kernel = program.value()->kernel();
  if (!kernel.ok()) return kernel.status();
  return Call(std::move(kernel).value());
}

double tile_traffic(const GemmDescription& d, std::int64_t rows, std::int64_t columns) {
  const auto in = static_cast<double>(size_in_bytes(d.types.input));
  const auto out = static_cast<double>(size_in_bytes(d.types.output));
  const auto m = static_cast<double>(d.m);
  const auto n = static_cast<double>(d.n);
  const auto k = static_cast<double>(d.k);
  const double reads = in * (m * k * static_cast<double>(core::ceil_divide(d.n, columns)) +
                             k * n * static_cast<double>(core::ceil_divide(d.m, rows)));
  return (reads + out * m * n) * static_cast<double>(d.batch_count);
}

}  // namespace exactile::opencl
