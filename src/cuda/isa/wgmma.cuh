// SPDX-License-Identifier: Apache-2.0
/// \file
/// What products by a warpgroup (PTX wgmma.mma_async, sm_90a) need beside the instruction (wgmma_tile.cuh): order, and
/// where tiles lie, rows of A and columns of B contiguous along K and swizzled as TMA leaves them.
#pragma once

#include <cstdint>

#include "cuda/isa/mbarrier.cuh"
#include "cuda/isa/uniform.cuh"

namespace exactile::cuda::isa {

/// wgmma.fence: registers written before are seen by the products that follow.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// wgmma.commit_group
__device__ inline void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// wgmma.wait_group: all but the newest `pending` groups have ended.
template <int pending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// The matrix descriptor of a tile whose rows are `row_bytes` long (64 or 128: the swizzle's span) and lie one after
/// the other. Descriptors of places further on are this plus bytes >> 4.
template <int row_bytes>
[[nodiscard]] __device__ inline std::uint64_t wgmma_descriptor(const void* tile) {
  static_assert(row_bytes == 64 || row_bytes == 128);
  constexpr std::uint64_t swizzle = row_bytes == 128 ? 1 : 2;  // bits 62-63
  constexpr std::uint64_t stride = 8 * row_bytes >> 4;         // bits 32-45: from one group of 8 rows to the next
  // In CTA 1 of a cluster the address has bits above the 18 that a descriptor holds.
  return swizzle << 62 | stride << 32 | 1ull << 16 | (shared_address(tile) & 0x3FFFF) >> 4;
}

/// A matrix descriptor in uniform registers, from where wgmma takes them: computed by each thread for itself it takes
/// an instruction of all threads, and one more to bring each word there. Best before a wait.
[[nodiscard]] __device__ inline std::uint64_t wgmma_uniform(std::uint64_t descriptor) {
  return descriptor >> 32 << 32 | warp_uniform(static_cast<std::uint32_t>(descriptor));
}

/// The descriptor of a place `bytes` further on. Shared memory ends before the address's bits do: nothing is carried.
[[nodiscard]] __device__ inline std::uint64_t wgmma_further(std::uint64_t descriptor, int bytes) {
  return descriptor >> 32 << 32 | (static_cast<std::uint32_t>(descriptor) + static_cast<std::uint32_t>(bytes >> 4));
}

/// The compiler must not move uses of these registers, or what makes them, across this place.
template <int count>
__device__ inline void pin(float (&d)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <class Word, int count>
__device__ inline void pin(Word (&d)[count]) {
  static_assert(sizeof(Word) == 4);
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

}  // namespace exactile::cuda::isa
