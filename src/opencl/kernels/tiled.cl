// SPDX-License-Identifier: Apache-2.0
// Square tiles of A and B in local memory, one element of C per work-item; zeros beyond the borders. With KAHAN each sum
// carries a compensation. Defined by the host: TS, the tile's side.

#if defined(KAHAN)
typedef struct {
  Sum sum, lost;
} Running;
// Kahan's sum: what the last addition lost is put into the next one. An infinite sum has lost nothing that could be
// given back; keeping the difference would turn it into NaN.
inline Running add_product(Running r, Sum x, Sum y) {
  const Sum term = x * y - r.lost;
  const Sum total = r.sum + term;
  r.lost = isfinite(total) ? (total - r.sum) - term : 0;
  r.sum = total;
  return r;
}
#define START {0, 0}
#define TOTAL(r) (r).sum
#else
typedef Sum Running;
inline Running add_product(Running r, Sum x, Sum y) { return multiply_add(x, y, r); }
#define START ZERO
#define TOTAL(r) (r)
#endif

__kernel __attribute__((reqd_work_group_size(TS *TS, 1, 1))) void tiled(
    const long m, const long n, const long k, OPERAND(const In, a), OPERAND(const In, b), OUTPUT_ARGUMENTS) {
  __local Sum a_tile[TS][TS];
  __local Sum b_tile[TS][TS];
  const int x = get_local_id(0) % TS;
  const int y = get_local_id(0) / TS;
  const long tile_columns = (n + TS - 1) / TS;
  const long tile_rows = (m + TS - 1) / TS;
  const long tile = get_group_id(0) % (tile_columns * tile_rows);
  const long product = get_group_id(0) / (tile_columns * tile_rows);
  const long row = tile / tile_columns * TS + y;
  const long column = tile % tile_columns * TS + x;
  a += a_offset + product * a_batch;
  b += b_offset + product * b_batch;

  Running running = START;
  for (long p = 0; p < k; p += TS) {
    a_tile[y][x] = row < m && p + x < k ? WIDEN_IN(a[row * a_row + (p + x) * a_column]) : ZERO;
    b_tile[y][x] = p + y < k && column < n ? WIDEN_IN(b[(p + y) * b_row + column * b_column]) : ZERO;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int q = 0; q < TS; ++q) running = add_product(running, a_tile[y][q], b_tile[q][x]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < m && column < n)
    STORE(c + c_offset + product * c_batch, row, column, TOTAL(running));
}
