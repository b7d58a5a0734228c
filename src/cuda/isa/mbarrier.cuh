// SPDX-License-Identifier: Apache-2.0
/// \file
/// Barriers in shared memory that count arrivals and bytes (PTX mbarrier, sm_90). A phase ends when both counts are
/// met; waiters name the parity of the phase they wait for. Those of other CTAs: cluster.cuh.
///
/// Wrappers here and in tma.cuh take pointers, or 32-bit addresses: a pipeline's addresses are then a product and a sum
/// in uniform registers, where pointers are worked out by each thread again and again.
#pragma once

#include <cstdint>

namespace exactile::cuda::isa {

/// The 32-bit address PTX wants for shared memory.
[[nodiscard]] __device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// mbarrier.init: a phase takes `arrivals` arrivals.
__device__ inline void mbarrier_init(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

/// fence.mbarrier_init: the other CTAs of the cluster see initialised barriers.
__device__ inline void mbarrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/// mbarrier.arrive
__device__ inline void mbarrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/// cp.async.mbarrier.arrive.noinc: arrives when all cp.async copies this thread has begun are complete.
__device__ inline void mbarrier_arrive_after_copies(std::uint64_t* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/// mbarrier.arrive.expect_tx: arrives, and the phase now waits for `bytes` more.
__device__ inline void mbarrier_arrive_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void mbarrier_arrive_expect(std::uint64_t* barrier, std::uint32_t bytes) {
  mbarrier_arrive_expect(shared_address(barrier), bytes);
}

/// mbarrier.try_wait.parity, again and again until the phase of that parity has ended.
__device__ inline void mbarrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ inline void mbarrier_wait(std::uint64_t* barrier, std::uint32_t parity) {
  mbarrier_wait(shared_address(barrier), parity);
}

}  // namespace exactile::cuda::isa
