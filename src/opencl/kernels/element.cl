// SPDX-License-Identifier: Apache-2.0
// What an element is. Every program starts with this file; the host defines INPUT_<type> and OUTPUT_<type>.
//   In, Out  elements of A and B, and of C, as they lie in memory
//   Sum      the type that sums: floats of its own width or float, integers as unsigned so that they wrap
// REAL is the scalar type that Sum is made of. With WIDE floats are summed in f64, a complex element's parts apart.

// Nothing is fused but what says so: the bits of an element do not depend on which kernel makes it.
#pragma OPENCL FP_CONTRACT OFF

#if defined(INPUT_f64) || defined(INPUT_cf64) || defined(WIDE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define REAL double
#elif defined(INPUT_i64)
#define REAL ulong
#elif defined(INPUT_i32) || defined(INPUT_i8)
#define REAL uint
#else
#define REAL float
#endif

#if defined(INPUT_i64) || defined(INPUT_i32) || defined(INPUT_i8)
#define IS_INTEGER 1
#else
#define IS_INTEGER 0
#endif
#if (defined(INPUT_cf32) || defined(INPUT_cf64)) && !defined(WIDE)
#define IS_COMPLEX 1
#else
#define IS_COMPLEX 0
#endif

#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)

#if IS_COMPLEX
typedef JOIN(REAL, 2) Sum;
#else
typedef REAL Sum;
#endif

// --- narrow floats are codes; they become numbers by integer arithmetic, whatever the device knows of them

// The exact float of a code with `exponent_bits` and `mantissa_bits`. ieee: the top exponent means Inf and NaN; else
// only the code of all ones is a NaN and there is no Inf.
inline float widen_code(uint code, int exponent_bits, int mantissa_bits, int ieee) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint top = (1u << exponent_bits) - 1;
  const uint all = (1u << mantissa_bits) - 1;
  const uint sign = (code >> (exponent_bits + mantissa_bits)) << 31;
  const uint exponent = (code >> mantissa_bits) & top;
  const uint mantissa = code & all;
  if (exponent == top && (ieee || mantissa == all))
    return as_float(sign | 0x7f800000u | (mantissa << (23 - mantissa_bits)));
  if (exponent != 0) return as_float(sign | ((exponent + 127 - bias) << 23) | (mantissa << (23 - mantissa_bits)));
  if (exponent_bits == 8) return as_float(sign | (mantissa << (23 - mantissa_bits)));
  // Below the normal range: mantissa * 2^(1 - bias - mantissa_bits), exact in float.
  const float magnitude = (float)mantissa * as_float((uint)(127 + 1 - bias - mantissa_bits) << 23);
  return as_float(sign | as_uint(magnitude));
}

// The code nearest to a float, ties to even; what rounds above `largest` becomes `overflow`.
inline uint narrow_code(float value, int exponent_bits, int mantissa_bits, uint largest, uint overflow, uint nan) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint bits = as_uint(value);
  const uint sign = (bits >> 31) << (exponent_bits + mantissa_bits);
  const uint magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | nan;
  if (magnitude == 0x7f800000u) return sign | overflow;
  const int is_normal = magnitude >= 0x00800000u;
  const int exponent = is_normal ? (int)(magnitude >> 23) - 127 : -126;
  const uint significand = is_normal ? (magnitude & 0x7fffffu) | 0x800000u : magnitude;
  const int below = max(1 - bias - exponent, 0);  // binary places below the format's normal range
  const int shift = 23 - mantissa_bits + below;
  if (shift > 25) return sign;
  uint kept = significand >> shift;
  const uint rest = significand & ((1u << shift) - 1);
  const uint half_way = 1u << (shift - 1);
  if (rest > half_way || (rest == half_way && (kept & 1u))) ++kept;
  // A carry out of the mantissa raises the exponent by itself: the two fields are neighbours.
  const uint code =
      below > 0 ? kept : ((uint)(exponent + bias) << mantissa_bits) + (kept - (1u << mantissa_bits));
  return sign | (code > largest ? overflow : code);
}

inline float widen_f16(ushort code) { return widen_code(code, 5, 10, 1); }
inline float widen_bf16(ushort code) { return as_float((uint)code << 16); }
inline float widen_f8e4m3(uchar code) { return widen_code(code, 4, 3, 0); }
inline float widen_f8e5m2(uchar code) { return widen_code(code, 5, 2, 1); }
inline ushort narrow_f16(float x) { return (ushort)narrow_code(x, 5, 10, 0x7bff, 0x7c00, 0x7e00); }
inline ushort narrow_bf16(float x) { return (ushort)narrow_code(x, 8, 7, 0x7f7f, 0x7f80, 0x7fc0); }

// --- In

#if defined(INPUT_f16)
typedef ushort In;
#define WIDEN_IN(x) widen_f16(x)
#elif defined(INPUT_bf16)
typedef ushort In;
#define WIDEN_IN(x) widen_bf16(x)
#elif defined(INPUT_f8e4m3)
typedef uchar In;
#define WIDEN_IN(x) widen_f8e4m3(x)
#elif defined(INPUT_f8e5m2)
typedef uchar In;
#define WIDEN_IN(x) widen_f8e5m2(x)
#elif defined(INPUT_i8)
typedef char In;
#define WIDEN_IN(x) ((Sum)(int)(x))
#elif defined(WIDE) && defined(INPUT_cf32)
typedef float2 In;
#elif defined(WIDE)
typedef float In;
#define WIDEN_IN(x) ((Sum)(x))
#else
typedef Sum In;
#define WIDEN_IN(x) (x)
#endif

// --- Out

#if defined(OUTPUT_f16)
typedef ushort Out;
#define WIDEN_OUT(x) widen_f16(x)
#define NARROW_OUT(x) narrow_f16(x)
#elif defined(OUTPUT_bf16)
typedef ushort Out;
#define WIDEN_OUT(x) widen_bf16(x)
#define NARROW_OUT(x) narrow_bf16(x)
#elif defined(WIDE)
typedef float Out;
#define WIDEN_OUT(x) (x)
#define NARROW_OUT(x) (x)
#else
typedef Sum Out;
#define OUT_IS_SUM 1
#define WIDEN_OUT(x) (x)
#define NARROW_OUT(x) (x)
#endif

// --- arithmetic

// x * y + z, one rounding for floats where the device has a fused multiply-add (the host defines FUSED).
#if IS_INTEGER || !defined(FUSED)
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#else
#define MULTIPLY_ADD(x, y, z) fma(x, y, z)
#endif

#if IS_COMPLEX
inline Sum multiply_add(Sum x, Sum y, Sum z) {
  const REAL re = MULTIPLY_ADD(-x.y, y.y, MULTIPLY_ADD(x.x, y.x, z.x));
  const REAL im = MULTIPLY_ADD(x.y, y.x, MULTIPLY_ADD(x.x, y.y, z.y));
  return (Sum)(re, im);
}
#define ZERO ((Sum)(0, 0))
#else
inline Sum multiply_add(Sum x, Sum y, Sum z) { return MULTIPLY_ADD(x, y, z); }
#define ZERO ((Sum)0)
#endif

// --- panels

// Where a line's element is in panels of `lines` lines.
inline long place(long line, long term, long k_padded, int lines) {
  return (line / lines * k_padded + term) * lines + line % lines;
}

// --- the product's arguments, the same for every kernel that ends in an element of C

// Element (i, j) of matrix p is x[x_offset + p * x_batch + i * x_row + j * x_column].
#define OPERAND(T, x) \
  __global T *restrict x, const long x##_offset, const long x##_row, const long x##_column, const long x##_batch
#define VECTOR(T, x) __global const T *restrict x, const long x##_offset
#define OUTPUT_ARGUMENTS                                                                                          \
  OPERAND(Out, c), const Sum alpha, const Sum beta, VECTOR(Out, bias), VECTOR(Sum, row_scales),                   \
      VECTOR(Sum, column_scales), const int flags
// store() with these
#define STORE(c_base, row, column, sum)                                                                           \
  store(c_base, c_row, c_column, row, column, sum, alpha, beta, bias + bias_offset, row_scales + row_scales_offset, \
        column_scales + column_scales_offset, flags)

// flags, as the host sets them
#define READS_C 1
#define BIAS_PER_ROW 2
#define BIAS_PER_COLUMN 4
#define RELU 8
#define SCALE_ROWS 16
#define SCALE_COLUMNS 32
#define COLUMNS_FIRST 64

inline Sum activate(Sum x, int flags) {
#if IS_COMPLEX
  return x;
#elif IS_INTEGER
#if defined(INPUT_i64)
  return (flags & RELU) && (long)x < 0 ? 0 : x;
#else
  return (flags & RELU) && (int)x < 0 ? 0 : x;
#endif
#else
#if defined(GELU)
  return x * ((Sum)0.5 * erfc(-x * (Sum)0.70710678118654752440));
#else
  return (flags & RELU) && x < 0 ? 0 : x;  // NaN is not below zero and stays
#endif
#endif
}

// alpha or beta times x. A real factor multiplies both parts of a complex number and nothing else: an Inf must not meet
// the factor's zero imaginary part.
inline Sum scaled(Sum factor, Sum x) {
#if IS_COMPLEX
  if (factor.y == 0) return factor.x * x;
  return (Sum)(factor.x * x.x - factor.y * x.y, factor.x * x.y + factor.y * x.x);
#else
  return factor * x;
#endif
}

// z + scaled(factor, x)
inline Sum add_scaled(Sum factor, Sum x, Sum z) {
#if IS_COMPLEX
  if (factor.y == 0) return MULTIPLY_ADD((Sum)(factor.x, factor.x), x, z);
#endif
  return multiply_add(factor, x, z);
}

// C(row, column) <- activation(alpha * sum + beta * C + bias), the sum first multiplied by the scales of its row and
// column; `c` points at element (0, 0) of the product's C.
inline void store(__global Out *c, long c_row, long c_column, long row, long column, Sum sum, Sum alpha, Sum beta,
                  __global const Out *bias, __global const Sum *row_scales, __global const Sum *column_scales,
                  int flags) {
  __global Out *element = c + row * c_row + column * c_column;
#if !IS_COMPLEX && !IS_INTEGER
  if (flags & (SCALE_ROWS | SCALE_COLUMNS)) {  // the caller's row first
    const Sum of_row = flags & SCALE_ROWS ? row_scales[row] : (Sum)1;
    const Sum of_column = flags & SCALE_COLUMNS ? column_scales[column] : (Sum)1;
    sum *= flags & COLUMNS_FIRST ? of_column : of_row;
    sum *= flags & COLUMNS_FIRST ? of_row : of_column;
  }
#endif
  Sum value = scaled(alpha, sum);
  if (flags & READS_C) value = add_scaled(beta, WIDEN_OUT(*element), value);
  if (flags & BIAS_PER_ROW) value += WIDEN_OUT(bias[row]);
  if (flags & BIAS_PER_COLUMN) value += WIDEN_OUT(bias[column]);
  *element = NARROW_OUT(activate(value, flags));
}
