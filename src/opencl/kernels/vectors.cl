// SPDX-License-Identifier: Apache-2.0
// As tiled.cl, but a work-item owns VW neighbouring elements of a row of C as one vector, so that one element of A from
// local memory meets VW of B. Defined by the host: TS, the tile's side; VW, which divides it.
typedef JOIN(REAL, VW) Vector;

__kernel __attribute__((reqd_work_group_size(TS *TS / VW, 1, 1))) void vectors(
    const long m, const long n, const long k, OPERAND(const In, a), OPERAND(const In, b), OUTPUT_ARGUMENTS) {
  __local REAL a_tile[TS][TS];
  __local REAL b_tile[TS][TS] __attribute__((aligned(64)));
  const int x = get_local_id(0) % (TS / VW);
  const int y = get_local_id(0) / (TS / VW);
  const long tile_columns = (n + TS - 1) / TS;
  const long tile_rows = (m + TS - 1) / TS;
  const long tile = get_group_id(0) % (tile_columns * tile_rows);
  const long product = get_group_id(0) / (tile_columns * tile_rows);
  const long row = tile / tile_columns * TS + y;
  const long first_column = tile % tile_columns * TS;
  a += a_offset + product * a_batch;
  b += b_offset + product * b_batch;

  Vector sums = 0;
  for (long p = 0; p < k; p += TS) {
    for (int v = 0; v < VW; ++v) {
      const int at = v * (TS / VW) + x;  // neighbouring work-items read neighbouring elements
      const long column = first_column + at;
      a_tile[y][at] = row < m && p + at < k ? WIDEN_IN(a[row * a_row + (p + at) * a_column]) : ZERO;
      b_tile[y][at] = p + y < k && column < n ? WIDEN_IN(b[(p + y) * b_row + column * b_column]) : ZERO;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int q = 0; q < TS; ++q)
      sums = MULTIPLY_ADD((Vector)a_tile[y][q], *(__local const Vector *)&b_tile[q][x * VW], sums);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row >= m) return;
  REAL elements[VW];
  JOIN(vstore, VW)(sums, 0, elements);
  c += c_offset + product * c_batch;
  for (int v = 0; v < VW; ++v)
    if (first_column + x * VW + v < n)
      STORE(c, row, first_column + x * VW + v, elements[v]);
}
