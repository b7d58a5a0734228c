// SPDX-License-Identifier: Apache-2.0
// Copies an operand into panels, the order in which packed.cl reads it: panel after panel of G rows of A (or columns of
// B), in each of them term after term, the G elements of one term side by side. Elements become sums' type on the way;
// beyond the borders there are zeros. The operand is seen as `extent` lines of k terms: x_row is the step from line to
// line, x_column that from term to term.
// Defined by the host: G; SERIAL where one work-item does a piece alone, which suits a CPU; COMPLEX_A, COMPLEX_B and
// CONJUGATE where parts of complex elements are lines and terms of their own.

#if defined(CONJUGATE)
#define IMAGINARY(x) (-(Sum)(x).y)
#else
#define IMAGINARY(x) ((Sum)(x).y)
#endif

// One line's element of a term.
inline Sum element_of(__global const In *x, long x_row, long x_column, long line, long term) {
#if defined(COMPLEX_A)  // a term is two: real, imaginary
  const In element = x[line * x_row + term / 2 * x_column];
  return term % 2 == 0 ? (Sum)element.x : IMAGINARY(element);
#elif defined(COMPLEX_B)  // a column is two, which with A's terms make the real and the imaginary part of C
  const In element = x[line / 2 * x_row + term / 2 * x_column];
  if (line % 2 == term % 2) return (Sum)element.x;
  return line % 2 == 0 ? -IMAGINARY(element) : IMAGINARY(element);
#else
  return WIDEN_IN(x[line * x_row + term * x_column]);
#endif
}

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
  x += x_offset + product * x_batch;
  panels += product * product_size + panel * k_padded * G;
  const long line = panel * G;
  if (x_row == 1) {
    for (long term = first_term; term < full_end; ++term)
      for (int i = 0; i < G; ++i) panels[term * G + i] = element_of(x, 1, x_column, line + i, term);
  } else {
    for (int i = 0; i < G; ++i)
      for (long term = first_term; term < full_end; ++term)
        panels[term * G + i] = element_of(x, x_row, x_column, line + i, term);
  }
  for (long term = max(first_term, full_end); term < end; ++term)
    for (int i = 0; i < G; ++i)
      panels[term * G + i] = line + i < extent && term < k ? element_of(x, x_row, x_column, line + i, term) : ZERO;
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
    tile[term][line] = inside ? element_of(x, x_row, x_column, first_line + line, first_term + term) : ZERO;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int i = 0; i < SIDE; i += ITEMS / SIDE) {
    const long line = first_line + fast;
    const long term = first_term + slow + i;
    if (line < padded_extent && term < k_padded) panels[place(line, term, k_padded, G)] = tile[slow + i][fast];
  }
}

#endif
