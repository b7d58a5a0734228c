// SPDX-License-Identifier: Apache-2.0
/// \file
/// For callers who have OpenCL buffers and queues: the only public header with OpenCL's types.
///
///     auto plan = exactile::Plan::make(description, {.backend = "opencl", .memory = exactile::Memory::device});
///     const exactile::opencl::BufferSpan a{buffer_a}, b{buffer_b}, c{buffer_c, offset};
///     plan.value().run({&a, &b, &c}, exactile::interop::on(queue));
///
/// The buffers and the (in-order) queue belong to one context, which may be of any device, sub-devices included. A run
/// enqueues kernels and returns; the first run of a plan on a context may compile them.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <cstdint>

#include "exactile/plan.hpp"

namespace exactile::opencl {

/// What a pointer of GemmArguments points at where operands lie in OpenCL's memory (and what each pointer of a pointer
/// array, itself in host memory, points at): element (0, 0) is `byte_offset` bytes into `memory`. Read during run()
/// only.
struct BufferSpan {
  cl_mem memory = nullptr;
  std::int64_t byte_offset = 0;
};

}  // namespace exactile::opencl

namespace exactile::interop {

/// Runs on `queue`.
[[nodiscard]] inline Execution on(cl_command_queue queue) { return {.queue = queue}; }

}  // namespace exactile::interop
