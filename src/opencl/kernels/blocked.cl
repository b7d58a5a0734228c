// SPDX-License-Identifier: Apache-2.0
// A work-item owns TM x TN elements of C in registers, interleaved over the work-group's BM x BN tile: element i of a
// work-item lies BM / TM rows from element i + 1, so that neighbours read neighbouring words. BK terms of A and B at a
// time lie in local memory, A transposed.
// Defined by the host:
//   BM BN BK TM TN   the tile, its depth, and a work-item's share
//   PAD              unused words behind each row of a local tile: stores of a transposed tile then meet other banks
//   BUFFERS          2: while one tile is used, the next one comes from memory through registers; 1: in turns
//   CHUNK            sums of CHUNK terms are completed before they are added up; not defined where k <= CHUNK
//   SLICED           each chunk of SLICED terms is a work-group's own; its sums go to `partial`, which reduce.cl adds up
#define WIDTH_M (BM / TM)
#define WIDTH_N (BN / TN)
#define ITEMS (WIDTH_M * WIDTH_N)
#define A_SHARE ((BM * BK + ITEMS - 1) / ITEMS)
#define B_SHARE ((BN * BK + ITEMS - 1) / ITEMS)

// Where item `e` of a tile of `extent` x BK elements lies; the walk follows the direction that is contiguous in memory.
inline int along_extent(int e, int extent, int k_is_contiguous) { return k_is_contiguous ? e / BK : e % extent; }
inline int along_k(int e, int extent, int k_is_contiguous) { return k_is_contiguous ? e % BK : e / extent; }

// One work-item's share of the next tile; zero beyond the borders.
inline void fetch(Sum *share, const int count, const int extent, __global const In *x, long major_stride, long k_stride,
                  long left_major, long left_k, int k_is_contiguous) {
  for (int i = 0; i < count; ++i) {
    const int e = get_local_id(0) + i * ITEMS;
    const int major = along_extent(e, extent, k_is_contiguous);
    const int depth = along_k(e, extent, k_is_contiguous);
    const int inside = e < extent * BK && major < left_major && depth < left_k;
    share[i] = inside ? WIDEN_IN(x[major * major_stride + depth * k_stride]) : ZERO;
  }
}

inline void keep(const Sum *share, const int count, const int extent, __local Sum *tile, int k_is_contiguous) {
  for (int i = 0; i < count; ++i) {
    const int e = get_local_id(0) + i * ITEMS;
    if (e < extent * BK)
      tile[along_k(e, extent, k_is_contiguous) * (extent + PAD) + along_extent(e, extent, k_is_contiguous)] = share[i];
  }
}

inline int is_contiguous(long k_stride, long major_stride) {
  return fabs((float)k_stride) < fabs((float)major_stride);
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void blocked(
    const long m, const long n, const long k_all, OPERAND(const In, a), OPERAND(const In, b),
#if defined(SLICED)
    const long products, __global Sum *restrict partial) {
#else
    OUTPUT_ARGUMENTS) {
#endif
  __local Sum a_tile[BUFFERS][BK * (BM + PAD)];
  __local Sum b_tile[BUFFERS][BK * (BN + PAD)];
  const int x = get_local_id(0) % WIDTH_N;
  const int y = get_local_id(0) / WIDTH_N;
  const long tile_columns = (n + BN - 1) / BN;
  const long tile_rows = (m + BM - 1) / BM;
  const long tile = get_group_id(0) % (tile_columns * tile_rows);
#if defined(SLICED)
  // Slice by slice, and within each product by product.
  const long product = get_group_id(0) / (tile_columns * tile_rows) % products;
  const long first_term = get_group_id(0) / (tile_columns * tile_rows) / products * SLICED;
  const long k = min((long)SLICED, k_all - first_term);
  a += first_term * a_column;
  b += first_term * b_row;
#else
  const long product = get_group_id(0) / (tile_columns * tile_rows);
  const long k = k_all;
#endif
  const long first_row = tile / tile_columns * BM;
  const long first_column = tile % tile_columns * BN;
  a += a_offset + product * a_batch + first_row * a_row;
  b += b_offset + product * b_batch + first_column * b_column;
  const int a_along_k = is_contiguous(a_column, a_row);
  const int b_along_k = is_contiguous(b_row, b_column);

  Sum sums[TM][TN] = {{ZERO}};
#if defined(CHUNK)
  Sum totals[TM][TN] = {{ZERO}};
#endif

  Sum a_share[A_SHARE], b_share[B_SHARE];
  fetch(a_share, A_SHARE, BM, a, a_row, a_column, m - first_row, k, a_along_k);
  fetch(b_share, B_SHARE, BN, b, b_column, b_row, n - first_column, k, b_along_k);
  int buffer = 0;
  for (long p = 0; p < k; p += BK) {
    keep(a_share, A_SHARE, BM, a_tile[buffer], a_along_k);
    keep(b_share, B_SHARE, BN, b_tile[buffer], b_along_k);
    barrier(CLK_LOCAL_MEM_FENCE);
#if BUFFERS == 2
    fetch(a_share, A_SHARE, BM, a + (p + BK) * a_column, a_row, a_column, m - first_row, k - p - BK, a_along_k);
    fetch(b_share, B_SHARE, BN, b + (p + BK) * b_row, b_column, b_row, n - first_column, k - p - BK, b_along_k);
#endif
#pragma unroll
    for (int q = 0; q < BK; ++q) {
      Sum a_own[TM], b_own[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) a_own[i] = a_tile[buffer][q * (BM + PAD) + i * WIDTH_M + y];
#pragma unroll
      for (int j = 0; j < TN; ++j) b_own[j] = b_tile[buffer][q * (BN + PAD) + j * WIDTH_N + x];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) sums[i][j] = multiply_add(a_own[i], b_own[j], sums[i][j]);
    }
#if BUFFERS == 2
    buffer ^= 1;
#else
    barrier(CLK_LOCAL_MEM_FENCE);
    fetch(a_share, A_SHARE, BM, a + (p + BK) * a_column, a_row, a_column, m - first_row, k - p - BK, a_along_k);
    fetch(b_share, B_SHARE, BN, b + (p + BK) * b_row, b_column, b_row, n - first_column, k - p - BK, b_along_k);
#endif
#if defined(CHUNK)
    if ((p + BK) % CHUNK == 0 || p + BK >= k) {
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          totals[i][j] += sums[i][j];
          sums[i][j] = ZERO;
        }
    }
#endif
  }

#if defined(SLICED)
  partial += get_group_id(0) / (tile_columns * tile_rows) * m * n;
#else
  c += c_offset + product * c_batch;
#endif
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const long row = first_row + i * WIDTH_M + y;
      const long column = first_column + j * WIDTH_N + x;
      if (row >= m || column >= n) continue;
#if defined(SLICED)
      partial[row * n + column] = sums[i][j];
#elif defined(CHUNK)
      STORE(c, row, column, totals[i][j]);
#else
      STORE(c, row, column, sums[i][j]);
#endif
    }
}
