// SPDX-License-Identifier: Apache-2.0
/// \file
/// The FP64 tensor cores: D <- A * B + D for one warp. Older devices than each needs get code that is never run.
/// Lane l is member t = l % 4 of group g = l / 4.
#pragma once

namespace exactile::cuda::isa {

/// 8 x 8 x 4, from sm_80 on. A: (g, t). B: (t, g). D: (g, 2t), (g, 2t + 1).
__device__ inline void mma_m8n8k4(double& d0, double& d1, double a, double b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d0), "+d"(d1)
      : "d"(a), "d"(b));
#endif
}

/// 16 x 8 x 8, from sm_90 on. A: a[2j] is (g, t + 4j), a[2j + 1] is (g + 8, t + 4j). B: b[j] is (t + 4j, g).
/// D: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
__device__ inline void mma_m16n8k8(double (&d)[4], const double (&a)[4], const double (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

/// 16 x 8 x 16, from sm_90 on: A and B of terms 0 to 7 and 8 to 15 each as above.
__device__ inline void mma_m16n8k16(double (&d)[4], const double (&a)[2][4], const double (&b)[2][2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0][0]), "d"(a[0][1]), "d"(a[0][2]), "d"(a[0][3]), "d"(a[1][0]), "d"(a[1][1]), "d"(a[1][2]), "d"(a[1][3]),
        "d"(b[0][0]), "d"(b[0][1]), "d"(b[1][0]), "d"(b[1][1]));
}

}  // namespace exactile::cuda::isa
