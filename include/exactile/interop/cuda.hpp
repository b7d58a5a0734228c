// SPDX-License-Identifier: Apache-2.0
/// \file
/// For callers who have CUDA streams and device pointers: the only public header with CUDA's types.
///
///     auto plan = exactile::Plan::make(description, {.backend = "cuda", .memory = exactile::Memory::device});
///     plan.value().run({device_a, device_b, device_c}, exactile::interop::on(stream));
///
/// A run enqueues kernels on the stream and nothing else: no synchronisation, so it can be captured in a graph. Where
/// no workspace is given and the kernel needs one it is allocated and freed in stream order, which a graph captures
/// too.
#pragma once

#include <cuda_runtime_api.h>

#include "exactile/plan.hpp"

namespace exactile::interop {

/// Runs on `stream` of the plan's device. `workspace` holds PlanSummary::workspace_bytes, is aligned to 256 bytes and
/// belongs to this run until its work is done.
[[nodiscard]] inline Execution on(cudaStream_t stream, void* workspace = nullptr, std::int64_t workspace_bytes = 0) {
  return {.queue = stream, .workspace = workspace, .workspace_bytes = workspace_bytes};
}

}  // namespace exactile::interop
