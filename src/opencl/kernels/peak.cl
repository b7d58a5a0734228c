// SPDX-License-Identifier: Apache-2.0
// How fast the arithmetic can go: independent chains of multiply-adds with everything in registers.
// Defined by the host: WIDTH, the vector's width; CHAINS; ROUNDS.
#if WIDTH == 1
typedef REAL Vector;
#define FIRST(v) (v)
#else
typedef JOIN(REAL, WIDTH) Vector;
#define FIRST(v) (v).s0
#endif

__kernel void peak(__global REAL *out, const REAL x, const REAL y) {
  Vector sums[CHAINS];
#pragma unroll
  for (int i = 0; i < CHAINS; ++i) sums[i] = (Vector)(x + (REAL)i);
  const Vector factor = (Vector)x;
  const Vector term = (Vector)y;
  for (int round = 0; round < ROUNDS; ++round)
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) sums[i] = MULTIPLY_ADD(sums[i], factor, term);
  Vector total = sums[0];
#pragma unroll
  for (int i = 1; i < CHAINS; ++i) total += sums[i];
  out[get_global_id(0)] = FIRST(total);
}
