// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matrix descriptors (wgmma.cuh) in uniform registers, from where wgmma takes them. Computed by each thread for itself
/// they take an instruction of all threads, and one more to bring each word there.
#pragma once

#include <cstdint>

#include "cuda/isa/uniform.cuh"

namespace exactile::cuda::isa {

/// warp_uniform() of a descriptor. Best before a wait.
[[nodiscard]] __device__ inline std::uint64_t wgmma_uniform(std::uint64_t descriptor) {
  return descriptor >> 32 << 32 | warp_uniform(static_cast<std::uint32_t>(descriptor));
}

/// The descriptor of a place `bytes` further on. Shared memory ends before the address's bits do: nothing is carried.
[[nodiscard]] __device__ inline std::uint64_t wgmma_further(std::uint64_t descriptor, int bytes) {
  return descriptor >> 32 << 32 | (static_cast<std::uint32_t>(descriptor) + static_cast<std::uint32_t>(bytes >> 4));
}

}  // namespace exactile::cuda::isa
