// SPDX-License-Identifier: Apache-2.0
/// \file
/// For callers who have CUDA streams and device pointers: the only public header with CUDA's types.
///
///     auto plan = exactile::Plan::make(description, {.backend = exactile::Backend::cuda, .memory =
///     exactile::Memory::device}); plan.value().run({device_a, device_b, device_c}, exactile::interop::on(stream));
///
/// A run enqueues kernels on the stream and nothing else: no synchronisation, so it can be captured in a graph. Where
/// no workspace is given and the kernel needs one it is allocated and freed in stream order, which a graph captures
/// too; outside of captures a stream keeps up to 64 MiB for its next run. The plan may go as soon as run() has
/// returned, and before a graph is launched; operands, scales and prepared operands may not.
///
/// Any number of threads may run one plan, on streams of their own or on one; C and workspaces must differ. The plan's
/// device need not be current, and which one is stays as it is. What earlier calls of the thread left in
/// cudaGetLastError() is dropped, and not taken for an error of the run; errors of work that was enqueued before may be
/// reported by the run, as by any call to CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include "exactile/plan.hpp"

struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;

namespace exactile::detail {
// CUDA's own narrow floats are elements as exactile's are; cuda_fp16.h and its kin are the caller's to include.
// clang-format off
template <> struct ElementTypeOf<__half> : std::integral_constant<ElementType, ElementType::f16> {};
template <> struct ElementTypeOf<__nv_bfloat16> : std::integral_constant<ElementType, ElementType::bf16> {};
template <> struct ElementTypeOf<__nv_fp8_e4m3> : std::integral_constant<ElementType, ElementType::f8e4m3> {};
template <> struct ElementTypeOf<__nv_fp8_e5m2> : std::integral_constant<ElementType, ElementType::f8e5m2> {};
// clang-format on
}  // namespace exactile::detail

namespace exactile::interop {

/// Runs on `stream` of the plan's device. `workspace` is device memory of `workspace_bytes` bytes, at least
/// PlanSummary::workspace_bytes, is aligned to 256 bytes and belongs to this run until its work is done.
[[nodiscard]] inline Execution on(cudaStream_t stream, void* workspace = nullptr, std::int64_t workspace_bytes = 0) {
  return {.queue = stream, .workspace = workspace, .workspace_bytes = workspace_bytes};
}

}  // namespace exactile::interop
