// SPDX-License-Identifier: Apache-2.0
// The tunable kernel: operands in panels (pack.cl), no borders in the loop, and every size a parameter.
// Defined by the host; src/opencl/families/packed_parameters.hpp says what is legal:
//   MWG NWG KWG    the work-group's tile of C, and the terms that it takes at a time
//   MDIMC NDIMC    work-items along the tile's rows and columns; each owns MWG/MDIMC x NWG/NDIMC elements
//   VWM VWN        vector widths along rows and columns; vectors of neighbouring work-items lie side by side
//   KWI            how many terms are unrolled
//   SA SB          1: the tile of A (of B) lies in local memory, and the next one is fetched while it is used
//   CHUNK          where k is longer: sums of CHUNK terms are completed before they are added up; the total so far
//                  waits in `totals`, each work-item's at a place of its own
#define ITEMS (MDIMC * NDIMC)
#define MWI (MWG / MDIMC)
#define NWI (NWG / NDIMC)
#define M_VECTORS (MWI / VWM)
#define N_VECTORS (NWI / VWN)

#if VWM == 1
typedef REAL MVector;
#define UNPACK_M(v, elements) (elements)[0] = (v)
#else
typedef JOIN(REAL, VWM) MVector;
#define UNPACK_M(v, elements) JOIN(vstore, VWM)(v, 0, elements)
#endif
#if VWN == 1
typedef REAL NVector;
#define LOAD_N(from) (*(from))
#define STORE_N(v, to) (*(to) = (v))
#else
typedef JOIN(REAL, VWN) NVector;
#define LOAD_N(from) JOIN(vload, VWN)(0, from)
#define STORE_N(v, to) JOIN(vstore, VWN)(v, 0, to)
#endif

// Vectors of a K step of the tile that one work-item moves.
#define A_SHARE (MWG * KWG / VWM / ITEMS)
#define B_SHARE (NWG * KWG / VWN / ITEMS)

// Work-items in blocks of 8 x 4 where that divides the tile, so that 32 neighbours read few words of A and of B.
#if MDIMC % 8 == 0 && NDIMC % 4 == 0
#define ITEM_M(t) ((t) / 32 % (MDIMC / 8) * 8 + (t) % 8)
#define ITEM_N(t) ((t) / 32 / (MDIMC / 8) * 4 + (t) % 32 / 8)
#else
#define ITEM_M(t) ((t) % MDIMC)
#define ITEM_N(t) ((t) / MDIMC)
#endif

// How many tiles lie below each other before the walk goes to the next column of tiles.
#define ROWS_OF_TILES 16

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void packed(
    const long m, const long n, const long k_padded,
    __global const MVector *restrict a_panels, const long a_product, __global const NVector *restrict b_panels,
    const long b_product, __global NVector *restrict totals, OUTPUT_ARGUMENTS) {
#if SA
  __local MVector a_tile[2][KWG * MWG / VWM];
#endif
#if SB
  __local NVector b_tile[2][KWG * NWG / VWN];
#endif
  const int item = get_local_id(0);
  const int item_m = ITEM_M(item);
  const int item_n = ITEM_N(item);

  const long tile_rows = (m + MWG - 1) / MWG;
  const long tile_columns = (n + NWG - 1) / NWG;
  const long tiles = tile_rows * tile_columns;
  const long tile = get_group_id(0) % tiles;
  const long product = get_group_id(0) / tiles;
  const long strip = tile / (ROWS_OF_TILES * tile_columns) * ROWS_OF_TILES;
  const long strip_rows = min((long)ROWS_OF_TILES, tile_rows - strip);
  const long in_strip = tile - strip * tile_columns;
  const long tile_row = strip + in_strip % strip_rows;
  const long tile_column = in_strip / strip_rows;

  __global const MVector *a = a_panels + (product * a_product + tile_row * k_padded * MWG) / VWM;
  __global const NVector *b = b_panels + (product * b_product + tile_column * k_padded * NWG) / VWN;

  NVector sums[MWI][N_VECTORS];
#pragma unroll
  for (int i = 0; i < MWI; ++i)
#pragma unroll
    for (int j = 0; j < N_VECTORS; ++j) sums[i][j] = (NVector)0;

#if SA
  MVector a_share[A_SHARE];
#pragma unroll
  for (int i = 0; i < A_SHARE; ++i) a_tile[0][i * ITEMS + item] = a[i * ITEMS + item];
#endif
#if SB
  NVector b_share[B_SHARE];
#pragma unroll
  for (int i = 0; i < B_SHARE; ++i) b_tile[0][i * ITEMS + item] = b[i * ITEMS + item];
#endif
  int buffer = 0;
  // How the two loops are written matters to NVIDIA's compiler by a fifth of the speed: nothing of the totals may be seen
  // in the inner one, whose steps it unrolls as it likes.
  long p = 0;
#if defined(CHUNK)
#pragma unroll 1
  for (;;) {
    const long end = min(p + CHUNK, k_padded);
#else
  {
    const long end = k_padded;
#endif
    for (; p < end; p += KWG) {
#if SA || SB
      barrier(CLK_LOCAL_MEM_FENCE);
      const int more = p + KWG < k_padded;
#endif
#if SA
      __local const MVector *a_terms = a_tile[buffer];
      if (more) {
#pragma unroll
        for (int i = 0; i < A_SHARE; ++i) a_share[i] = a[KWG * MWG / VWM + i * ITEMS + item];
      }
#else
      __global const MVector *a_terms = a;
#endif
#if SB
      __local const NVector *b_terms = b_tile[buffer];
      if (more) {
#pragma unroll
        for (int i = 0; i < B_SHARE; ++i) b_share[i] = b[KWG * NWG / VWN + i * ITEMS + item];
      }
#else
      __global const NVector *b_terms = b;
#endif
#pragma unroll 1
      for (int q = 0; q < KWG; q += KWI) {
#pragma unroll
        for (int r = 0; r < KWI; ++r) {
          REAL a_own[MWI];
          NVector b_own[N_VECTORS];
#pragma unroll
          for (int i = 0; i < M_VECTORS; ++i)
            UNPACK_M(a_terms[(q + r) * (MWG / VWM) + i * MDIMC + item_m], a_own + i * VWM);
#pragma unroll
          for (int j = 0; j < N_VECTORS; ++j) b_own[j] = b_terms[(q + r) * (NWG / VWN) + j * NDIMC + item_n];
#pragma unroll
          for (int i = 0; i < MWI; ++i)
#pragma unroll
            for (int j = 0; j < N_VECTORS; ++j) sums[i][j] = MULTIPLY_ADD((NVector)a_own[i], b_own[j], sums[i][j]);
        }
      }
      buffer ^= 1;
#if SA
      if (more) {
#pragma unroll
        for (int i = 0; i < A_SHARE; ++i) a_tile[buffer][i * ITEMS + item] = a_share[i];
      }
#endif
#if SB
      if (more) {
#pragma unroll
        for (int i = 0; i < B_SHARE; ++i) b_tile[buffer][i * ITEMS + item] = b_share[i];
      }
#endif
      a += KWG * MWG / VWM;
      b += KWG * NWG / VWN;
    }
#if defined(CHUNK)
    __global NVector *total = totals + get_group_id(0) * (ITEMS * MWI * N_VECTORS) + item;
    if (p > CHUNK) {
#pragma unroll
      for (int i = 0; i < MWI; ++i)
#pragma unroll
        for (int j = 0; j < N_VECTORS; ++j) sums[i][j] = total[(i * N_VECTORS + j) * ITEMS] + sums[i][j];
    }
    if (p == k_padded) break;
#pragma unroll
    for (int i = 0; i < MWI; ++i)
#pragma unroll
      for (int j = 0; j < N_VECTORS; ++j) {
        total[(i * N_VECTORS + j) * ITEMS] = (NVector)0 + sums[i][j];  // as in blocked.cl: no -0 among totals
        sums[i][j] = (NVector)0;
      }
#endif
  }

  c += c_offset + product * c_batch;
#pragma unroll
  for (int i = 0; i < MWI; ++i) {
    const long row = tile_row * MWG + (i / VWM * MDIMC + item_m) * VWM + i % VWM;
    if (row >= m) continue;
#pragma unroll
    for (int j = 0; j < N_VECTORS; ++j) {
      const long column = tile_column * NWG + (j * NDIMC + item_n) * VWN;
#if defined(OUT_IS_SUM) && !defined(GELU)
      if (c_column == 1 && column + VWN <= n && (flags & ~READS_C) == 0) {
        __global REAL *to = c + row * c_row + column;
        NVector value = alpha * sums[i][j];
        if (flags & READS_C) value = MULTIPLY_ADD((NVector)beta, LOAD_N(to), value);
        STORE_N(value, to);
        continue;
      }
#endif
      REAL elements[VWN];
      STORE_N(sums[i][j], elements);
      for (int e = 0; e < VWN && column + e < n; ++e)
        STORE(c, row, column + e, elements[e]);
    }
  }
}
