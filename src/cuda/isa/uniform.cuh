// SPDX-License-Identifier: Apache-2.0
/// \file
/// What all threads of a warp have in common, in a form that tells the compiler so. It keeps such values in uniform
/// registers and computes with them once for a warp; wgmma and TMA take their operands from nowhere else, and what is
/// not known to be uniform goes there through a loop over the threads.
#pragma once

#include <cstdint>

namespace exactile::cuda::isa {

/// x of the warp's first thread; by whole warps. Takes some 25 cycles.
template <class T>
[[nodiscard]] __device__ inline T warp_uniform(T x) {
  return __shfl_sync(~0u, x, 0);
}

/// elect.sync: whether this is the one thread of a whole warp that acts for it.
[[nodiscard]] __device__ inline bool elect_one() {
  std::uint32_t is_elected;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}\n"
      : "=r"(is_elected));
  return is_elected != 0;
}

}  // namespace exactile::cuda::isa
