// SPDX-License-Identifier: Apache-2.0
// Copies an operand into panels, the order in which packed.cl reads it: panel after panel of G rows of A (or columns of
// B), in each of them term after term, the G elements of one term side by side. Elements become sums' type on the way;
// beyond the borders there are zeros. The operand is seen as `extent` lines of k terms: x_row is the step from line to
// line, x_column that from term to term.
// Defined by the host: G; SERIAL where one work-item does a piece alone, which suits a CPU.

inline long place(long line, long term, long k_padded) { return (line / G * k_padded + term) * G + line % G; }

#if defined(SERIAL)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void pack(const long extent, const long k, const long k_padded,
                                                                  OPERAND(const In, x), __global Sum *restrict panels,
                                                                  const long product_size) {
  const long pieces = (k_padded + SERIAL - 1) / SERIAL;
  const long panel_count = (extent + G - 1) / G;
  const long first_term = get_group_id(0) % pieces * SERIAL;
  const long panel = get_group_id(0) / pieces % panel_count;
  const long product = get_group_id(0) / (pieces * panel_count);
  const long end = min(first_term + SERIAL, k_padded);
  const long full_end = panel * G + G <= extent ? min(end, k) : first_term;
  x += x_offset + product * x_batch + panel * G * x_row;
  panels += product * product_size + panel * k_padded * G;
  if (x_row == 1) {
    for (long term = first_term; term < full_end; ++term)
      for (int i = 0; i < G; ++i) panels[term * G + i] = WIDEN_IN(x[i + term * x_column]);
  } else {
    for (int i = 0; i < G; ++i)
      for (long term = first_term; term < full_end; ++term)
        panels[term * G + i] = WIDEN_IN(x[i * x_row + term * x_column]);
  }
  for (long term = max(first_term, full_end); term < end; ++term)
    for (int i = 0; i < G; ++i)
      panels[term * G + i] = panel * G + i < extent && term < k ? WIDEN_IN(x[i * x_row + term * x_column]) : ZERO;
}

#else

#define SIDE 32
#define ITEMS 256

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void pack(const long extent, const long k,
                                                                      const long k_padded, OPERAND(const In, x),
                                                                      __global Sum *restrict panels,
                                                                      const long product_size) {
  __local Sum tile[SIDE][SIDE + 1];
  const long padded_extent = (extent + G - 1) / G * G;
  const long term_tiles = (k_padded + SIDE - 1) / SIDE;
  const long line_tiles = (padded_extent + SIDE - 1) / SIDE;
  const long first_term = get_group_id(0) % term_tiles * SIDE;
  const long first_line = get_group_id(0) / term_tiles % line_tiles * SIDE;
  const long product = get_group_id(0) / (term_tiles * line_tiles);
  const int fast = get_local_id(0) % SIDE;
  const int slow = get_local_id(0) / SIDE;
  x += x_offset + product * x_batch;
  panels += product * product_size;
  // Read in the direction that is contiguous in memory, written in that of the panel.
  const int lines_are_fast = fabs((float)x_row) < fabs((float)x_column);
#pragma unroll
  for (int i = 0; i < SIDE; i += ITEMS / SIDE) {
    const int line = lines_are_fast ? fast : slow + i;
    const int term = lines_are_fast ? slow + i : fast;
    const int inside = first_line + line < extent && first_term + term < k;
    tile[term][line] = inside ? WIDEN_IN(x[(first_line + line) * x_row + (first_term + term) * x_column]) : ZERO;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int i = 0; i < SIDE; i += ITEMS / SIDE) {
    const long line = first_line + fast;
    const long term = first_term + slow + i;
    if (line < padded_extent && term < k_padded) panels[place(line, term, k_padded)] = tile[slow + i][fast];
  }
}

#endif
