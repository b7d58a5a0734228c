// SPDX-License-Identifier: Apache-2.0
/// \file
/// f32 as a few narrower numbers: x * 2^e = s0 + s1 (+ s2) + a small rest, with one e for a row of A or a column of B.
/// A product of two rows is then a few products on the tensor cores. docs/accuracy-proofs.md proves what that keeps.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace exactile::cuda::sm90 {

/// Scale and underflow data of the rows of A or the columns of B, as the split finds them. All zero at first.
struct VectorScales {
  unsigned* max_bits;    ///< the largest finite |x|, as bits
  unsigned* underflows;  ///< tiny elements: not zero, and held less well than the rest; by weight
};

/// A product of slice s_a of A and slice s_b of B. They are numbered in the order of summation: small ones first.
struct SlicePair {
  int a;
  int b;
};

/// Two f16 slices, three products; s1 * s1 is left out.
struct Fp16x3 {
  using Element = __half;
  using Pair = __half2;
  static constexpr int slices = 2;
  static constexpr int products = 3;
  [[nodiscard]] __host__ __device__ static constexpr SlicePair product(int i) { return {i == 0, i == 1}; }
  static constexpr int limit_exponent = 15;  // scaled elements are below 2^15

  // In memory a row of K is blocks of 32 elements, slice after slice; 32 elements of both slices are one swizzled row.
  static constexpr int row_bytes = 128;
  static constexpr int boxes = 1;
  static constexpr int stages = 4;
  static constexpr int chunk_stages = 2;  // summed by the tensor cores before f32 takes over: 64 elements of K
  [[nodiscard]] __host__ __device__ static constexpr int slice_offset(int slice, int /*rows*/) { return 64 * slice; }

  /// What a tiny element adds to an error, at most: 2^-25, half the last place of s1, times 2^15.
  [[nodiscard]] static float underflow_error(int /*k*/) { return 0x1p-10f; }
  /// Roundings (in units of 2^-24) that all else adds to an error over a sum of k; see docs/accuracy-proofs.md.
  [[nodiscard]] static constexpr int roundings(int k) { return 53 + k / 64; }

  /// From here on elements are ordinary: finite, not tiny, slices by rounding alone.
  static constexpr float least_ordinary = 0.25f;
  /// Slices of two ordinary elements.
  __device__ static void split_ordinary(float y0, float y1, __half2 (&s)[2]) {
    s[0] = __floats2half2_rn(y0, y1);
    s[1] = __floats2half2_rn(y0 - __low2float(s[0]), y1 - __high2float(s[0]));
  }

  /// Slices of any y = x * 2^e; the weight 1 if x is tiny. For x that is not zero s0 is not zero either, and Inf and
  /// NaN lie in s1 beside such an s0: then Inf * b, formed as s1 * b0 + s0 * b1 + s0 * b0, is Inf, -Inf or NaN as it
  /// must be.
  [[nodiscard]] __device__ static unsigned split(float x, float y, int /*k*/, __half (&s)[2]) {
    constexpr float least = 0x1p-24f;
    s[0] = __float2half_rn(y);
    if (x != 0 && fabsf(y) < least) s[0] = __float2half_rn(copysignf(least, x));
    if (!(fabsf(x) <= 3.402823466e38f)) {
      s[0] = __float2half_rn(copysignf(least, x));
      s[1] = __float2half_rn(x);
      return 0;
    }
    const float rest = y - __half2float(s[0]);
    s[1] = __float2half_rn(rest);
    return x != 0 && fabsf(y) < 0.25f && (fabsf(y) < least || rest != __half2float(s[1]));
  }
};

/// Three bf16 slices, six products: exact slices over 150 binary orders of magnitude.
struct Bf16x6 {
  using Element = __nv_bfloat16;
  using Pair = __nv_bfloat162;
  static constexpr int slices = 3;
  static constexpr int products = 6;
  [[nodiscard]] __host__ __device__ static constexpr SlicePair product(int i) {
    return i < 3 ? SlicePair{2 - i, i} : i < 5 ? SlicePair{4 - i, i - 3} : SlicePair{0, 0};
  }
  static constexpr int limit_exponent = 50;

  static constexpr int row_bytes = 64;
  static constexpr int boxes = 3;
  static constexpr int stages = 3;
  static constexpr int chunk_stages = 1;  // 32 elements of K
  [[nodiscard]] __host__ __device__ static constexpr int slice_offset(int slice, int rows) {
    return row_bytes * rows * slice;
  }

  /// Two kinds of tiny elements. Below 2^-100 rests of 2^-126 are lost, times 2^50. Below 2^-40 six products may
  /// underflow, each by 2^-126: less than a rest divided by 2^31 / k, which is what the former weigh more.
  [[nodiscard]] static float underflow_error(int k) { return 0x1p-76f / static_cast<float>(lost_weight(k)); }
  [[nodiscard]] __host__ __device__ static unsigned lost_weight(int k) { return (1u << 31) / static_cast<unsigned>(k); }
  [[nodiscard]] static constexpr int roundings(int k) { return 25 + k / 32; }

  static constexpr float least_ordinary = 0x1p-40f;
  __device__ static void split_ordinary(float y0, float y1, __nv_bfloat162 (&s)[3]) {
    s[0] = __floats2bfloat162_rn(y0, y1);
    y0 -= __low2float(s[0]);
    y1 -= __high2float(s[0]);
    s[1] = __floats2bfloat162_rn(y0, y1);
    s[2] = __floats2bfloat162_rn(y0 - __low2float(s[1]), y1 - __high2float(s[1]));
  }

  [[nodiscard]] __device__ static unsigned split(float x, float y, int k, __nv_bfloat16 (&s)[3]) {
    constexpr float least = 0x1p-126f;
    const bool finite = fabsf(x) <= 3.402823466e38f;
    s[0] = __float2bfloat16_rn(y);
    if (!finite || (x != 0 && fabsf(y) < least)) s[0] = __float2bfloat16_rn(copysignf(least, x));
    const float rest = y - __bfloat162float(s[0]);
    s[1] = __float2bfloat16_rn(finite ? rest : 0.0f);
    s[2] = __float2bfloat16_rn(finite ? rest - __bfloat162float(s[1]) : x);
    return !finite || x == 0 || fabsf(y) >= 0x1p-40f ? 0 : fabsf(y) < 0x1p-100f ? lost_weight(k) : 1;
  }
};

/// e such that elements of the row times 2^e are below 2^limit_exponent; 2^e and 2^-e are ordinary numbers.
template <class Slices>
[[nodiscard]] __host__ __device__ inline int scale_exponent(unsigned max_bits) {
  const int field = max_bits < 1u << 23 ? 1 : static_cast<int>(max_bits >> 23);  // |x| < 2^(field - 126)
  const int exponent = Slices::limit_exponent + 126 - field;
  return exponent < 126 ? exponent : 126;
}

/// 2^e for -126 <= e <= 127
[[nodiscard]] __device__ inline float power_of_two(int e) { return __int_as_float((e + 127) << 23); }

/// Elements of K that lie together, and bytes of all their slices.
inline constexpr int block_k = 32;
template <class Slices>
inline constexpr int block_bytes = block_k* Slices::slices * 2;

/// Blocks that a row of k elements takes, rounded up to whole chunks with zeros.
template <class Slices>
[[nodiscard]] __host__ __device__ constexpr int blocks_of(int k) {
  constexpr int chunk_k = block_k * Slices::chunk_stages;
  return (k + chunk_k - 1) / chunk_k * Slices::chunk_stages;
}

/// The error of an element of C may be underflow_scale * (tiny elements of its row and column). It is within the
/// promise if it is no larger than |sum|, which is no larger than |A||B|. Infinite where roundings leave nothing of the
/// promise.
template <class Slices>
[[nodiscard]] inline float underflow_scale(int k) {
  const int left = k - Slices::roundings(k);
  constexpr float margin = 1.25f;  // the sum has errors too
  return left > 0 ? margin * Slices::underflow_error(k) * 0x1p24f / static_cast<float>(left) : __builtin_inff();
}

}  // namespace exactile::cuda::sm90
