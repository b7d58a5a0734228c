// SPDX-License-Identifier: Apache-2.0
// Elements whose bound leaves no doubt are rounded (A. Ziv, 1991); the others are listed.

// A number in two parts.
typedef struct {
  double high, low;
} Pair;

inline Pair add(Pair pair, double x) {
  const double sum = pair.high + x;
  const double of_x = sum - pair.high;
  pair.low += (pair.high - (sum - of_x)) + (x - of_x);
  pair.high = sum;
  return pair;
}

inline Pair add_product(Pair pair, double x, double y) {
  const double product = x * y;
  pair = add(pair, product);
  pair.low += fma(x, y, -product);
  return pair;
}

// The number next to x where x is not what it should be and has an even last bit: rounding to odd, after which a second
// rounding to fewer bits does no harm (S. Boldo and G. Melquiond, 2008).
inline double to_odd(double x, double missing) {
  const ulong bits = as_ulong(x);
  if (missing == 0 || (bits & 1) != 0) return x;
  return as_double((missing > 0) == !signbit(x) ? bits + 1 : bits - 1);
}

inline float to_odd_float(float x, double missing) {
  const uint bits = as_uint(x);
  if (missing == 0 || (bits & 1) != 0) return x;
  return as_float((missing > 0) == !signbit(x) ? bits + 1 : bits - 1);
}

// high + low rounded once.
inline Out rounded(double high, double low) {
  const double sum = high + low;
  const double of_low = sum - high;
  const double odd = to_odd(sum, (high - (sum - of_low)) + (low - of_low));
  const float nearest = (float)odd;
#if defined(OUTPUT_f32) || defined(OUTPUT_cf32)
  return nearest;
#else
  if (!isfinite(odd)) return NARROW_OUT(nearest);
  return NARROW_OUT(to_odd_float(nearest, isinf(nearest) ? -(double)nearest : odd - (double)nearest));
#endif
}

// Whether the component is certain, which is then left in `to`.
inline int round_form(const Form *form, const double *sums, const double *doubts, int used, int is_plain, Out *to) {
  Pair value = {0, 0};
  double error = 0;
  double size = 0;
  for (int t = 0; t < used; ++t) {
    value = add_product(value, form->factor[t], sums[t]);
    size += fabs(form->factor[t]) * fabs(sums[t]);
    error += fabs(form->factor[t]) * doubts[t];
  }
  for (int t = 0; t < PARTS; ++t) {
    value = add_product(value, form->fixed[t][0], form->fixed[t][1]);
    size += fabs(form->fixed[t][0] * form->fixed[t][1]);
  }
  value = add(value, form->bias);
  size += fabs(form->bias);
  if (!(size < 0x1p1000)) return 0;
#if defined(COMPENSATED)
  error = 0;
#else
  // Each operation in two parts loses less than 2^-104 of what was added up, or underflows.
  if (size != 0 && !is_plain) error += size * 0x1p-100 + 0x1p-1060;
#endif
  const Out least = rounded(value.high, value.low - error);
  const Out most = rounded(value.high, value.low + error);
  *to = least;
  const float one = WIDEN_OUT(least);
  const float other = WIDEN_OUT(most);
  return isfinite(one) && as_uint(one) == as_uint(other);
}

#define ITEMS 256

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void round_certain(ARGUMENTS) {
  __local uint open_count;
  __local uint first_place;
  const long at = get_global_id(0);
  if (get_local_id(0) == 0) open_count = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  int is_open = 0;
  if (at < m * n * products) {
    const long product = at / (m * n);
    const long row = at % (m * n) / n;
    const long column = at % n;
    __global Out *element = c + PARTS * (c_offset + product * c_batch + row * c_row + column * c_column);
    __global const double *of_row = a + a_known + (a_shared ? 0 : product * 3 * a_padded) + row;
    __global const double *of_columns = b + b_known + (b_shared ? 0 : product * 3 * b_padded) + column * PARTS;
    double both[PARTS] = {0};
    double doubts[PARTS] = {0};
    for (int part = 0; part < PARTS && terms != 0; ++part) {
      both[part] = sums[sums_offset + at * PARTS + part];
      doubts[part] = doubt_of(of_row, a_padded, of_columns + part, b_padded, relative);
    }
    const int used = is_used(alpha, terms, 0) + (PARTS == 2 && is_used(alpha, terms, 1));
    const int is_plain = alpha.x == 1 && alpha.y == 0 && (flags & ~RELU) == 0;
    Out results[PARTS];
    for (int part = 0; part < PARTS; ++part) {
      const Form form = FORM_OF(part, element, row, column);
      const double own[2] = {both[part], both[PARTS - 1 - part]};
      const double off[2] = {doubts[part], doubts[PARTS - 1 - part]};
      is_open |= !round_form(&form, own, off, used, is_plain, &results[part]);
    }
    for (int part = 0; part < PARTS && !is_open; ++part) element[part] = activated(results[part], flags);
  }
  uint mine = 0;
  if (is_open) mine = atomic_inc(&open_count);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) first_place = open_count != 0 ? atomic_add(list + list_offset, open_count) : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (is_open) list[list_offset + 1 + first_place + mine] = (uint)at;
}
