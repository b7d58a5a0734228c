// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products by a warpgroup (PTX wgmma.mma_async, sm_90a): D(64 x N, registers) += A(64 x 16) * B(16 x N), A and B in
/// shared memory, rows of A and columns of B contiguous along K and swizzled as TMA leaves them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "cuda/isa/mbarrier.cuh"

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

/// The compiler must not move uses of these registers across this place.
template <int count>
__device__ inline void pin(float (&d)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// One instruction, two element types: the text differs in one word.
#define EXACTILE_WGMMA_M64N128K16(type)                                                                             \
  asm volatile(                                                                                                     \
      "{\n"                                                                                                         \
      ".reg .pred p;\n"                                                                                             \
      "setp.ne.b32 p, %66, 0;\n"                                                                                    \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type                                                  \
      " {"                                                                                                          \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                      \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                            \
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                            \
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "                           \
      "%64, %65, p, 1, 1, 0, 0;\n"                                                                                  \
      "}\n"                                                                                                         \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), \
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),      \
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),     \
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),     \
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),     \
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),     \
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),     \
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])                   \
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)))

/// wgmma.mma_async.m64n128k16.f32: d = a * b, or d += a * b where `accumulate`.
template <class Element>
__device__ inline void wgmma_m64n128k16(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate) {
  static_assert(std::is_same_v<Element, __half> || std::is_same_v<Element, __nv_bfloat16>);
  if constexpr (std::is_same_v<Element, __half>) {
    EXACTILE_WGMMA_M64N128K16("f16");
  } else {
    EXACTILE_WGMMA_M64N128K16("bf16");
  }
}

#undef EXACTILE_WGMMA_M64N128K16

}  // namespace exactile::cuda::isa
