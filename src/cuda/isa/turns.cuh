// SPDX-License-Identifier: Apache-2.0
/// \file
/// The half of a named barrier (warpgroup.cuh) for those that do not wait at it.
#pragma once

namespace exactile::cuda::isa {

/// bar.arrive: counts as one of `threads` at barrier `id`.
__device__ inline void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace exactile::cuda::isa
