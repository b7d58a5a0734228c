// SPDX-License-Identifier: Apache-2.0
// The listed elements once more, summed without an error.

// Fixed-point numbers in digits of 32 bits, kept in 64 so that carries wait (R. Neal, Fast exact summation using small
// and large superaccumulators, 2015). Of sums of products of f32: bits from 2^-352 to 2^288, 2^29 of them. Of what an
// element is made of, which has a factor of f32 more: from 2^-544 to 2^448.
#define DIGITS 20
#define LOWEST (-352)
#define WIDE_DIGITS 31
#define WIDE_LOWEST (-544)
// A work-group settles ENTRIES elements at once; SLICES of its items share an element's terms. Neighbouring items have
// neighbouring entries of the list: often columns of one row.
#define ITEMS 128
#define ENTRIES 16
#define SLICES (ITEMS / ENTRIES)

// Three digits that hold significand * 2^shift, shift below 32.
inline long digit_of(ulong significand, int shift, int which) {
  const ulong low = significand << shift;
  if (which == 0) return (long)(low & 0xffffffff);
  return which == 1 ? (long)(low >> 32) : (long)((significand >> 1) >> (63 - shift));
}

typedef struct {
  ulong significand;
  int exponent;  // of the significand's last bit
  int negative;
} Number;

inline Number number_of(double x) {
  const ulong bits = as_ulong(x);
  const int field = (int)(bits >> 52 & 0x7ff);
  const ulong fraction = bits & ((1ul << 52) - 1);
  const Number number = {field == 0 ? fraction : fraction | 1ul << 52, max(field, 1) - 1075, (int)(bits >> 63)};
  return number;
}

inline void add_to_sum(__local long *digits, double x) {
  if (x == 0) return;
  const Number number = number_of(x);
  const int position = number.exponent - LOWEST;
  __local long *to = digits + (position >> 5) * ITEMS;
  for (int i = 0; i < 3; ++i) {
    const long digit = digit_of(number.significand, position & 31, i);
    to[i * ITEMS] += number.negative ? -digit : digit;
  }
}

inline void add_to_total(long *digits, ulong significand, int exponent, int negative) {
  const int position = exponent - WIDE_LOWEST;
  for (int i = 0; i < 3; ++i) {
    const long digit = digit_of(significand, position & 31, i);
    if (digit != 0) digits[(position >> 5) + i] += negative ? -digit : digit;
  }
}

inline void add_exact(long *total, double x) {
  const Number number = number_of(x);
  if (x != 0) add_to_total(total, number.significand, number.exponent, number.negative);
}

// Digits of 32 bits each; whether the number was negative, and has been turned into its magnitude.
#define SETTLED(name, space, count, step)                         \
  inline int name(space long *digits) {                           \
    for (int negative = 0;; negative = 1) {                       \
      long carry = 0;                                             \
      for (int d = 0; d < (count); ++d) {                         \
        carry += digits[d * (step)];                              \
        digits[d * (step)] = carry & 0xffffffff;                  \
        carry >>= 32;                                             \
      }                                                           \
      if (negative || carry >= 0) return negative;                \
      for (int d = 0; d < (count); ++d) digits[d * (step)] *= -1; \
    }                                                             \
  }
SETTLED(settle_sum, __local, DIGITS, ITEMS)
SETTLED(settle_total, , WIDE_DIGITS, 1)

// total += factor * sum, whose digits are settled; a factor of f32 has 24 bits.
inline void add_scaled_sum(long *total, double factor, __local const long *digits, int negative) {
  const Number number = number_of(factor);
  if (factor == 0) return;
  for (int d = 0; d < DIGITS; ++d)
    add_to_total(total, (number.significand >> 29) * (ulong)digits[d * ITEMS], number.exponent + 29 + 32 * d + LOWEST,
                 number.negative != negative);
}

#if defined(OUTPUT_f16)
#define PRECISION 11
#define SMALLEST (-24)
#elif defined(OUTPUT_bf16)
#define PRECISION 8
#define SMALLEST (-133)
#else
#define PRECISION 24
#define SMALLEST (-149)
#endif

inline uint bits_from(const long *digits, int position) {
  const int d = position >> 5;
  const ulong two = (ulong)digits[d] | (d + 1 < WIDE_DIGITS ? (ulong)digits[d + 1] << 32 : 0);
  return (uint)(two >> (position & 31));
}

// Rounded to nearest, ties to even. An exact zero is positive, what underflows keeps its sign.
inline Out rounded_total(long *digits) {
  const int negative = settle_total(digits);
  int top = WIDE_DIGITS - 1;
  while (top >= 0 && digits[top] == 0) --top;
  if (top < 0) return (Out)0;
  const int first_bit = 32 * top + 31 - (int)clz((uint)digits[top]) + WIDE_LOWEST;
  const int last_bit = max(first_bit - PRECISION + 1, SMALLEST);
  const int guard = last_bit - 1 - WIDE_LOWEST;
  uint significand = last_bit > first_bit ? 0 : bits_from(digits, guard + 1);
  if (bits_from(digits, guard) & 1) {
    int beyond = (digits[guard >> 5] & ((1l << (guard & 31)) - 1)) != 0;
    for (int d = 0; d < guard >> 5; ++d) beyond |= digits[d] != 0;
    if (beyond || (significand & 1)) ++significand;
  }
  const float magnitude = (float)((double)significand * as_double((ulong)(last_bit + 1023) << 52));
  return NARROW_OUT(negative ? -magnitude : magnitude);
}

// What matters beside an infinite number.
inline double sign_of(double x) { return isfinite(x) ? (x == 0 ? 0.0 : copysign(1.0, x)) : x; }

inline Out special_value(const Form *form, const double *sums, int used) {
  double value = sign_of(form->bias);
  for (int t = 0; t < used; ++t) value += sign_of(form->factor[t]) * sign_of(sums[t]);
  for (int t = 0; t < PARTS; ++t) value += sign_of(form->fixed[t][0]) * sign_of(form->fixed[t][1]);
  return NARROW_OUT(isnan(value) ? as_float(0x7fc00000u) : (float)value);
}

inline int is_finite(const Form *form) {
  double all = form->bias * 0;
  for (int t = 0; t < PARTS; ++t) all += form->factor[t] * 0 + form->fixed[t][0] * 0 + form->fixed[t][1] * 0;
  return all == 0;
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void settle(ARGUMENTS) {
  __local long digits[DIGITS * ITEMS];
  __local double specials[ITEMS];
  const int item = get_local_id(0);
  const int entry = item % ENTRIES;
  const int slice = item / ENTRIES;
  const uint count = list[list_offset];
  const int used = is_used(alpha, terms, 0) + (PARTS == 2 && is_used(alpha, terms, 1));
  for (uint first = get_group_id(0) * ENTRIES; first < count; first += get_num_groups(0) * ENTRIES) {
    const int is_there = first + entry < count;
    const long at = is_there ? list[list_offset + 1 + first + entry] : 0;
    const long product = at / (m * n);
    const long row = at % (m * n) / n;
    const long column = at % n;
    __global Out *element = c + PARTS * (c_offset + product * c_batch + row * c_row + column * c_column);
    __global const double *a_panels = a + (a_shared ? 0 : product * a_padded * k_padded);
    __global const double *b_panels = b + (b_shared ? 0 : product * b_padded * k_padded);
    __global const double *of_row = a + a_known + (a_shared ? 0 : product * 3 * a_padded) + row;
    __global const double *of_columns = b + b_known + (b_shared ? 0 : product * 3 * b_padded) + column * PARTS;
    Out results[PARTS];
    for (int part = 0; part < PARTS; ++part) {
      const Form form = FORM_OF(part, element, row, column);
      int from_sums = is_finite(&form);
      for (int t = 0; t < used; ++t) {
        const int of = t == 0 ? part : 1 - part;
        from_sums = from_sums && isfinite(sums[sums_offset + at * PARTS + of]) &&
                    doubt_of(of_row, a_padded, of_columns + of, b_padded, relative) == 0;
      }
      long total[WIDE_DIGITS];
      for (int d = 0; d < WIDE_DIGITS; ++d) total[d] = 0;
      double stand_ins[PARTS] = {0};
      int finite = is_finite(&form);
      for (int t = 0; t < used; ++t) {
        const long line = column * PARTS + (t == 0 ? part : 1 - part);
        for (int d = 0; d < DIGITS; ++d) digits[d * ITEMS + item] = 0;
        double special = 0;
        if (from_sums && slice == 0) add_to_sum(digits + item, sums[sums_offset + at * PARTS + line % PARTS]);
        for (long p = from_sums || !is_there ? terms : slice; p < terms; p += SLICES) {
          const double x = a_panels[place(row, p, k_padded, G_A)];
          const double y = b_panels[place(line, p, k_padded, G_B)];
          if (isfinite(x) && isfinite(y))
            add_to_sum(digits + item, x * y);
          else
            special += x * y;
        }
        specials[item] = special;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = item; i < DIGITS * ENTRIES; i += ITEMS) {
          __local long *digit = digits + i / ENTRIES * ITEMS + i % ENTRIES;
          for (int s = 1; s < SLICES; ++s) digit[0] += digit[s * ENTRIES];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (slice == 0) {
          for (int s = 1; s < SLICES; ++s) special += specials[s * ENTRIES + entry];
          const int negative = settle_sum(digits + item);
          int is_zero = 1;
          for (int d = 0; d < DIGITS; ++d) is_zero &= digits[d * ITEMS + item] == 0;
          finite = finite && special == 0;
          stand_ins[t] = special != 0 ? special : is_zero ? 0 : negative ? -1 : 1;
          if (finite) add_scaled_sum(total, form.factor[t], digits + item, negative);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      if (slice == 0 && finite) {
        for (int t = 0; t < PARTS; ++t) add_exact(total, form.fixed[t][0] * form.fixed[t][1]);
        add_exact(total, form.bias);
      }
      if (slice == 0) results[part] = finite ? rounded_total(total) : special_value(&form, stand_ins, used);
    }
    if (slice == 0 && is_there)
      for (int part = 0; part < PARTS; ++part) element[part] = activated(results[part], flags);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
