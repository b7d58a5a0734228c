// SPDX-License-Identifier: Apache-2.0
// What is known of a side's lines beside their elements: norms, steps and grains, one array behind the other.
// |sum_k a_ik b_kj| and the sum of absolute values are at most norm_i * norm_j; each element of a line is a multiple of
// its step; a grain is norm / step.
// Defined by the host: G, lines of a panel; LINES, of a work-group, divides it; ITEMS.

#define SLICES (ITEMS / LINES)

// The power of two that is the value of x's last bit that is set; infinite for a zero.
inline double last_bit(double x) {
  const ulong bits = as_ulong(x);
  const double without = as_double(bits & (bits - 1));
  const double last = (bits & ((1ul << 52) - 1)) == 0 ? x : x - without;
  return x == 0 ? (double)INFINITY : fabs(last);
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void measure(const long padded_lines, const long k_padded,
                                                                         const double more,
                                                                         __global double *restrict panels,
                                                                         const long lines_offset) {
  __local double norms[ITEMS];
  __local double steps[ITEMS];
  const int item = get_local_id(0);
  const long groups = padded_lines / LINES;
  const long line = get_group_id(0) % groups * LINES + item % LINES;
  const long product = get_group_id(0) / groups;
  __global const double *elements = panels + product * padded_lines * k_padded;
  double norm = 0;
  double step = INFINITY;
  for (long term = item / LINES; term < k_padded; term += SLICES) {
    const double x = elements[place(line, term, k_padded, G)];
    const double last = last_bit(x);
    step = last < step ? last : step;
    norm += x * x;
  }
  norms[item] = norm;
  steps[item] = step;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item >= LINES) return;
  for (int s = 1; s < SLICES; ++s) {
    norm += norms[s * LINES + item];
    step = fmin(step, steps[s * LINES + item]);
  }
  norm = more * sqrt(norm);
  __global double *known = panels + lines_offset + product * 3 * padded_lines + line;
  known[0] = norm;
  known[padded_lines] = step;
  known[2 * padded_lines] = norm / step;
}
