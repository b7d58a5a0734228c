// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products by a warpgroup for the types that the tensor cores multiply as they are (PTX wgmma.mma_async, sm_90a):
/// D(64 x n, registers) += A(64 x k) * B(k x n), A and B in shared memory as TMA leaves them in rows of 128 bytes, or A
/// of f16 in registers. k is 32 bytes of elements. A row of shared memory runs along K, or, for 16-bit types, along M
/// or N.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

#include "cuda/isa/wgmma.cuh"

namespace exactile::cuda::isa {

/// Whether the rows of a tile in shared memory run along K, or along M (of A) or N (of B).
enum class Major : int { k = 0, mn = 1 };

/// The matrix descriptor of a tile in rows of 128 bytes. Along K: rows lie one after the other. Along M or N: a row
/// holds 64 elements, k rows follow one another, and the next 64 elements begin `next_64` bytes further on.
template <Major major>
[[nodiscard]] __device__ inline std::uint64_t wgmma_tile_descriptor(std::uint32_t tile, std::uint32_t next_64) {
  constexpr std::uint64_t swizzle_128 = 1ull << 62;
  constexpr std::uint64_t stride = static_cast<std::uint64_t>(1024 >> 4) << 32;  // from 8 rows to the next 8
  const std::uint32_t leading = major == Major::k ? 1 : next_64 >> 4;
  // In CTA 1 of a cluster the address has bits above the 18 that a descriptor holds.
  return swizzle_128 | stride | (leading << 16 | (tile & 0x3FFFF) >> 4);
}

#define EXACTILE_R8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define EXACTILE_R16 \
  EXACTILE_R8        \
  ", %8, %9, %10, %11, %12, %13, %14, %15"
#define EXACTILE_R20 \
  EXACTILE_R16       \
  ", %16, %17, %18, %19"
#define EXACTILE_R24 \
  EXACTILE_R16       \
  ", %16, %17, %18, %19, %20, %21, %22, %23"
#define EXACTILE_R32 \
  EXACTILE_R16       \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define EXACTILE_R36 \
  EXACTILE_R32       \
  ", %32, %33, %34, %35"
#define EXACTILE_R48 \
  EXACTILE_R32       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define EXACTILE_R64                                                                 \
  EXACTILE_R32                                                                       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define EXACTILE_R72 \
  EXACTILE_R64       \
  ", %64, %65, %66, %67, %68, %69, %70, %71"
#define EXACTILE_R80 \
  EXACTILE_R64       \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define EXACTILE_R96                                                                 \
  EXACTILE_R64                                                                       \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define EXACTILE_R128                                                                            \
  EXACTILE_R96                                                                                   \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define EXACTILE_D4(c, o) c(d[o]), c(d[o + 1]), c(d[o + 2]), c(d[o + 3])
#define EXACTILE_D8(c, o) EXACTILE_D4(c, o), EXACTILE_D4(c, o + 4)
#define EXACTILE_D16(c, o) EXACTILE_D8(c, o), EXACTILE_D8(c, o + 8)
#define EXACTILE_D20(c, o) EXACTILE_D16(c, o), EXACTILE_D4(c, o + 16)
#define EXACTILE_D24(c, o) EXACTILE_D16(c, o), EXACTILE_D8(c, o + 16)
#define EXACTILE_D32(c, o) EXACTILE_D16(c, o), EXACTILE_D16(c, o + 16)
#define EXACTILE_D36(c, o) EXACTILE_D32(c, o), EXACTILE_D4(c, o + 32)
#define EXACTILE_D48(c, o) EXACTILE_D32(c, o), EXACTILE_D16(c, o + 32)
#define EXACTILE_D64(c, o) EXACTILE_D32(c, o), EXACTILE_D32(c, o + 32)
#define EXACTILE_D72(c, o) EXACTILE_D64(c, o), EXACTILE_D8(c, o + 64)
#define EXACTILE_D80(c, o) EXACTILE_D64(c, o), EXACTILE_D16(c, o + 64)
#define EXACTILE_D96(c, o) EXACTILE_D64(c, o), EXACTILE_D32(c, o + 64)
#define EXACTILE_D128(c, o) EXACTILE_D64(c, o), EXACTILE_D64(c, o + 64)

// One instruction for each width n; `r` is the number of its registers, the operands behind them are a, b, the
// predicate and (for floats) the two directions.
#define EXACTILE_WGMMA_FLOAT(n, r, type, a_at, b_at, p_at, ta_at, tb_at)                            \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" p_at                                            \
               ", 0;\n"                                                                             \
               "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" EXACTILE_R##r   \
               "}, %" a_at ", %" b_at ", p, 1, 1, %" ta_at ", %" tb_at ";\n}\n"                     \
               : EXACTILE_D##r("+f", 0)                                                             \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(static_cast<int>(a_major)), \
                 "n"(static_cast<int>(b_major)))
// Floats that are only read along K: k is the number of them in 32 bytes.
#define EXACTILE_WGMMA_FLOAT_K(n, k, r, type, a_at, b_at, p_at)                                       \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" p_at                                              \
               ", 0;\n"                                                                               \
               "wgmma.mma_async.sync.aligned.m64n" #n "k" #k ".f32." type "." type " {" EXACTILE_R##r \
               "}, %" a_at ", %" b_at ", p, 1, 1;\n}\n"                                               \
               : EXACTILE_D##r("+f", 0)                                                               \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)))
#define EXACTILE_WGMMA_INTEGER(n, r, a_at, b_at, p_at)                                                       \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" p_at                                                     \
               ", 0;\n"                                                                                      \
               "wgmma.mma_async.sync.aligned.m64n" #n "k32.s32.s8.s8 {" EXACTILE_R##r "}, %" a_at ", %" b_at \
                                                                                      ", p;\n}\n"            \
               : EXACTILE_D##r("+r", 0)                                                                      \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)))
#define EXACTILE_WGMMA(n, r, a_at, b_at, p_at, ta_at, tb_at)            \
  if constexpr (std::is_same_v<In, __half>) {                           \
    EXACTILE_WGMMA_FLOAT(n, r, "f16", a_at, b_at, p_at, ta_at, tb_at);  \
  } else if constexpr (std::is_same_v<In, __nv_bfloat16>) {             \
    EXACTILE_WGMMA_FLOAT(n, r, "bf16", a_at, b_at, p_at, ta_at, tb_at); \
  } else if constexpr (std::is_same_v<In, float>) {                     \
    EXACTILE_WGMMA_FLOAT_K(n, 8, r, "tf32", a_at, b_at, p_at);          \
  } else if constexpr (std::is_same_v<In, __nv_fp8_e4m3>) {             \
    EXACTILE_WGMMA_FLOAT_K(n, 32, r, "e4m3", a_at, b_at, p_at);         \
  } else if constexpr (std::is_same_v<In, __nv_fp8_e5m2>) {             \
    EXACTILE_WGMMA_FLOAT_K(n, 32, r, "e5m2", a_at, b_at, p_at);         \
  } else {                                                              \
    EXACTILE_WGMMA_INTEGER(n, r, a_at, b_at, p_at);                     \
  }

/// wgmma.mma_async.m64n<n>: d = a * b, or d += a * b where `accumulate`. In is f16 or bf16 (k = 16, sums in f32); or,
/// both tiles along K: float, of which tf32 is read (k = 8), an 8-bit float (k = 32, sums in f32 of which 13 bits
/// count) or i8 (k = 32, sums in i32 modulo 2^32, no width of 40).
template <class In, int n, Major a_major, Major b_major, class Accumulator>
__device__ inline void wgmma_tile(Accumulator (&d)[n / 2], std::uint64_t a, std::uint64_t b, bool accumulate) {
  static_assert(n == 16 || n == 32 || n == 40 || n == 48 || n == 64 || n == 96 || n == 128 || n == 144 || n == 160 ||
                n == 192 || n == 256);
  if constexpr (n == 16) {
    EXACTILE_WGMMA(16, 8, "8", "9", "10", "11", "12")
  } else if constexpr (n == 32) {
    EXACTILE_WGMMA(32, 16, "16", "17", "18", "19", "20")
  } else if constexpr (n == 40) {
    EXACTILE_WGMMA(40, 20, "20", "21", "22", "23", "24")
  } else if constexpr (n == 48) {
    EXACTILE_WGMMA(48, 24, "24", "25", "26", "27", "28")
  } else if constexpr (n == 64) {
    EXACTILE_WGMMA(64, 32, "32", "33", "34", "35", "36")
  } else if constexpr (n == 96) {
    EXACTILE_WGMMA(96, 48, "48", "49", "50", "51", "52")
  } else if constexpr (n == 128) {
    EXACTILE_WGMMA(128, 64, "64", "65", "66", "67", "68")
  } else if constexpr (n == 144) {
    EXACTILE_WGMMA(144, 72, "72", "73", "74", "75", "76")
  } else if constexpr (n == 160) {
    EXACTILE_WGMMA(160, 80, "80", "81", "82", "83", "84")
  } else if constexpr (n == 192) {
    EXACTILE_WGMMA(192, 96, "96", "97", "98", "99", "100")
  } else if constexpr (n == 256) {
    EXACTILE_WGMMA(256, 128, "128", "129", "130", "131", "132")
  }
}

/// Registers of A for 16 of K. Thread 32w + l holds, in element 2h + r, row 16w + l / 4 + 8r and the two columns from
/// 8h + 2(l % 4) on.
using WgmmaRegisters = unsigned[4];

#define EXACTILE_WGMMA_REGISTERS(n, r, a_at, b_at, p_at)                                                        \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" p_at                                                        \
               ", 0;\n"                                                                                         \
               "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" EXACTILE_R##r "}, {" a_at "}, %" b_at \
                                                                                        ", p, 1, 1, 0;\n}\n"    \
               : EXACTILE_D##r("+f", 0)                                                                         \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)))

/// wgmma.mma_async.m64n<2 half>k16.f32.f16.f16 with A in registers and B along K: d = a * b, or d += a * b where
/// `accumulate`.
template <int half>
__device__ inline void wgmma_registers(float (&d)[half], const WgmmaRegisters& a, std::uint64_t b, bool accumulate) {
  static_assert(half == 32 || half == 36 || half == 64);
  if constexpr (half == 32) {
    EXACTILE_WGMMA_REGISTERS(64, 32, "%32, %33, %34, %35", "36", "37");
  } else if constexpr (half == 36) {
    EXACTILE_WGMMA_REGISTERS(72, 36, "%36, %37, %38, %39", "40", "41");
  } else {
    EXACTILE_WGMMA_REGISTERS(128, 64, "%64, %65, %66, %67", "68", "69");
  }
}

#undef EXACTILE_WGMMA_REGISTERS
#undef EXACTILE_WGMMA
#undef EXACTILE_WGMMA_INTEGER
#undef EXACTILE_WGMMA_FLOAT_K
#undef EXACTILE_WGMMA_FLOAT
#undef EXACTILE_D128
#undef EXACTILE_D96
#undef EXACTILE_D80
#undef EXACTILE_D72
#undef EXACTILE_D64
#undef EXACTILE_D48
#undef EXACTILE_D36
#undef EXACTILE_D32
#undef EXACTILE_D24
#undef EXACTILE_D20
#undef EXACTILE_D16
#undef EXACTILE_D8
#undef EXACTILE_D4
#undef EXACTILE_R128
#undef EXACTILE_R96
#undef EXACTILE_R80
#undef EXACTILE_R72
#undef EXACTILE_R64
#undef EXACTILE_R48
#undef EXACTILE_R36
#undef EXACTILE_R32
#undef EXACTILE_R24
#undef EXACTILE_R20
#undef EXACTILE_R16
#undef EXACTILE_R8

}  // namespace exactile::cuda::isa
