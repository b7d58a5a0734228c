// SPDX-License-Identifier: Apache-2.0
/// \file
/// For callers who have OpenCL buffers and queues: the only public header with OpenCL's types.
///
///     auto plan = exactile::Plan::make(description, {.backend = exactile::Backend::opencl, .memory =
///     exactile::Memory::device}); const exactile::opencl::BufferSpan a{buffer_a}, b{buffer_b}, c{buffer_c, offset};
///     exactile::interop::run(plan.value(), {&a, &b, &c}, queue);
///
/// The buffers and the (in-order) queue belong to one context, which may be of any device, sub-devices included. A run
/// enqueues kernels and returns; the first run of a plan on a context may compile them. Events come and go with run():
///
///     cl_event done = nullptr;
///     exactile::interop::run(plan.value(), {&a, &b, &c}, queue, std::array{upload_of_a, upload_of_b}, &done);
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <cstdint>
#include <span>
#include <string>

#include "exactile/plan.hpp"

namespace exactile::opencl {

/// What a pointer of GemmArguments points at where operands lie in OpenCL's memory (and what each pointer of a pointer
/// array, itself in host memory, points at): element (0, 0) is `byte_offset` bytes into `memory`. Read during run()
/// only; one that was given to Plan::prepare() must stay as long as the PreparedOperand is used.
struct BufferSpan {
  cl_mem memory = nullptr;
  std::int64_t byte_offset = 0;
};

/// GemmArguments of operands in buffers, where the compiler sees to it that each is a BufferSpan and none a cl_mem. For
/// matrices given by pointers, whose arrays hold BufferSpan*, GemmArguments itself is the way.
struct BufferArguments {
  const BufferSpan* a = nullptr;
  const BufferSpan* b = nullptr;
  const BufferSpan* c = nullptr;  ///< written
  Scalar alpha = 1;
  Scalar beta = 0;
  const BufferSpan* bias = nullptr;
  const PreparedOperand* prepared_a = nullptr;
  const PreparedOperand* prepared_b = nullptr;
  const BufferSpan* row_scales = nullptr;
  const BufferSpan* column_scales = nullptr;

  operator GemmArguments() const {  // NOLINT(*-explicit-*)
    return {.a = a,
            .b = b,
            .c = const_cast<BufferSpan*>(c),  // its buffer is written, the span is read
            .alpha = alpha,
            .beta = beta,
            .bias = bias,
            .prepared_a = prepared_a,
            .prepared_b = prepared_b,
            .row_scales = row_scales,
            .column_scales = column_scales};
  }
};

}  // namespace exactile::opencl

namespace exactile::interop {

/// Runs on `queue`: Plan::run(arguments, on(queue)), with BufferArguments or arguments whose pointers are BufferSpan*.
[[nodiscard]] inline Execution on(cl_command_queue queue) { return {.queue = queue}; }

/// Runs on `queue` once all of `after` are complete. `done`, unless null, becomes an event that completes with the run,
/// which the caller releases; a null event where the call fails. A wait may have been enqueued even then. The one call
/// here that needs the program to be linked with OpenCL's loader.
[[nodiscard]] inline Status run(const Plan& plan, const opencl::BufferArguments& arguments, cl_command_queue queue,
                                std::span<const cl_event> after = {}, cl_event* done = nullptr) {
  const auto failed = [](const char* call, cl_int error) {
    return Status(StatusCode::device_failure, std::string(call) + ": error " + std::to_string(error));
  };
  if (done != nullptr) *done = nullptr;
  if (!after.empty()) {
    const cl_int error = clEnqueueBarrierWithWaitList(queue, static_cast<cl_uint>(after.size()), after.data(), nullptr);
    if (error != CL_SUCCESS) return failed("clEnqueueBarrierWithWaitList", error);
  }
  if (Status s = plan.run(arguments, on(queue)); !s.ok() || done == nullptr) return s;
  const cl_int error = clEnqueueMarkerWithWaitList(queue, 0, nullptr, done);
  return error == CL_SUCCESS ? Status() : failed("clEnqueueMarkerWithWaitList", error);
}

}  // namespace exactile::interop
