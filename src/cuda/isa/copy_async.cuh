// SPDX-License-Identifier: Apache-2.0
/// \file
/// cp.async (sm_80): copies from global to shared memory that pass no register and are waited for in groups. Before
/// sm_80 the copies are made at once, and there is nothing to wait for.
#pragma once

#include <cstdint>

namespace exactile::cuda::isa {

/// Copies the first `valid` of Bytes bytes and fills the rest with zeros; `from` is not read where `valid` is 0. Both
/// addresses are multiples of Bytes: 4, 8 or 16.
template <int Bytes>
__device__ inline void copy_async(void* to_shared, const void* from, int valid) {
#if __CUDA_ARCH__ >= 800
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(Bytes), "r"(valid)
                 : "memory");
  }
#else
#pragma unroll
  for (int byte = 0; byte < Bytes; byte += 4)
    static_cast<std::uint32_t*>(to_shared)[byte / 4] =
        byte < valid ? static_cast<const std::uint32_t*>(from)[byte / 4] : 0;
#endif
}

/// Closes a group of the copies this thread has issued.
__device__ inline void copy_async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most `Pending` of this thread's groups are not there yet.
template <int Pending>
__device__ inline void copy_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

}  // namespace exactile::cuda::isa
