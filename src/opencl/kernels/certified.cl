// SPDX-License-Identifier: Apache-2.0
// What the kernels for compensated and correctly_rounded share; stands before certified_round.cl and
// certified_settle.cl. Sums of f64 whose error is bounded are rounded once (docs/accuracy.md). Operands are panels of f64
// (pack.cl), summed in chunks by packed.cl; a complex product is one of twice as many real columns and terms.
// Defined by the host: PARTS, 2 of complex elements, else 1; COMPENSATED: sums are rounded as they are; G_A, G_B: lines
// of a panel.

// `known` numbers of lines, sums [product][row][part of a column], and a list of elements that begins with its length.
#define LINES_OF(x) \
  __global const double *restrict x, const long x##_known, const long x##_padded, const long x##_shared
#define ARGUMENTS                                                                                                   \
  const long m, const long n, const long products, const long terms, const long k_padded, const double relative,    \
      LINES_OF(a), LINES_OF(b), __global const double *restrict sums, const long sums_offset,                       \
      __global uint *restrict list, const long list_offset, OPERAND(Out, c), const double2 alpha, const double2 beta, \
      VECTOR(Out, bias), const int flags

// sum_t factor[t] * sum of part[t] + sum_t fixed[t][0] * fixed[t][1] + bias, one component of an element.
typedef struct {
  double factor[PARTS];
  double fixed[PARTS][2];
  double bias;
} Form;

inline int is_used(double2 alpha, long terms, int t) { return terms != 0 && (t == 0 || alpha.y != 0); }

// `element` of C and `bias` at their first part.
inline Form form_of(int part, double2 alpha, double2 beta, long terms, __global const Out *element,
                    __global const Out *bias, int flags) {
  Form form;
  form.factor[0] = terms != 0 ? alpha.x : 0;
  form.fixed[0][0] = flags & READS_C ? beta.x : 0;
  form.fixed[0][1] = flags & READS_C ? WIDEN_OUT(element[part]) : 0;
#if PARTS == 2
  const double sign = part == 0 ? -1 : 1;
  const int reads_other = (flags & READS_C) && beta.y != 0;
  form.factor[1] = is_used(alpha, terms, 1) ? sign * alpha.y : 0;
  form.fixed[1][0] = reads_other ? sign * beta.y : 0;
  form.fixed[1][1] = reads_other ? WIDEN_OUT(element[1 - part]) : 0;
#endif
  form.bias = flags & (BIAS_PER_ROW | BIAS_PER_COLUMN) ? WIDEN_OUT(bias[part]) : 0;
  return form;
}

// form_of() with the arguments, of an element at `row` and `column`.
#define FORM_OF(part, element, row, column)       \
  form_of(part, alpha, beta, terms, element,      \
          bias + PARTS * (bias_offset + (flags & BIAS_PER_ROW ? row : column)), flags)

// How far the sum of a row and a column may be off: 0 where its terms have too few bits between them to lose one.
inline double doubt_of(__global const double *of_row, long rows, __global const double *of_column, long columns,
                       double relative) {
#if defined(COMPENSATED)
  return 0;
#else
  const int exact = of_row[2 * rows] * of_column[2 * columns] <= 0x1p52 && of_row[rows] * of_column[columns] > 0;
  return exact ? 0 : relative * (of_row[0] * of_column[0]);
#endif
}

inline Out activated(Out x, int flags) {
  const float value = WIDEN_OUT(x);
  return (flags & RELU) && signbit(value) && !isnan(value) ? (Out)0 : x;
}
