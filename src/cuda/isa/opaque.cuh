// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values that are opaque to the compiler, so that it cannot keep them from further up (rematerialisation): what
/// depends on them is found anew where it is used, and takes no registers between, which are scarcer than the
/// instructions.
#pragma once

namespace exactile::cuda::isa {

/// %tid.x, read here.
[[nodiscard]] __device__ inline int opaque_thread() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

/// x, which from here on nothing is known of.
[[nodiscard]] __device__ inline int opaque(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

}  // namespace exactile::cuda::isa
