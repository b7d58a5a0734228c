// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums without any rounding: the device's twin of core/exact_sum.hpp. Digit d of a number weighs 2^(32 d + lowest);
/// digits have 64 bits, so that carries wait (R. Neal, Fast exact summation using small and large superaccumulators,
/// 2015). The host can call all of it, which is how it is tested without a device.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace exactile::cuda::certified {

struct Significand {
  std::uint64_t magnitude;
  int exponent;  ///< of the last bit
  bool negative;
};

[[nodiscard]] __host__ __device__ inline Significand significand_of(double x) {
  const auto bits = __builtin_bit_cast(std::uint64_t, x);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  return {field == 0 ? fraction : fraction | std::uint64_t{1} << 52, (field == 0 ? 1 : field) - 1075, bits >> 63 != 0};
}

/// 128 bits.
struct Wide {
  std::uint64_t low;
  std::uint64_t high;
};

[[nodiscard]] __host__ __device__ inline Wide multiply_wide(std::uint64_t x, std::uint64_t y) {
#ifdef __CUDA_ARCH__
  return {x * y, __umul64hi(x, y)};
#else
  __extension__ using Product = unsigned __int128;
  const Product product = static_cast<Product>(x) * y;
  return {static_cast<std::uint64_t>(product), static_cast<std::uint64_t>(product >> 64)};
#endif
}

/// Digits of one number, `stride` apart.
struct Digits {
  std::int64_t* first;
  int stride;
  int lowest;  ///< weight of the first one; a multiple of 32

  [[nodiscard]] __host__ __device__ std::int64_t& operator[](int digit) const { return first[digit * stride]; }
};

/// Adds to a digit; others may add to it at the same time.
struct AddTogether {
  __host__ __device__ void operator()(std::int64_t& digit, std::int64_t x) const {
#ifdef __CUDA_ARCH__
    atomicAdd(reinterpret_cast<unsigned long long*>(&digit), static_cast<unsigned long long>(x));
#else
    digit += x;
#endif
  }
};
struct AddAlone {
  __host__ __device__ void operator()(std::int64_t& digit, std::int64_t x) const { digit += x; }
};

/// Adds a magnitude below 2^127 whose last bit has that exponent: 32 bits to each of three digits, the rest to a
/// fourth.
template <class Add>
__host__ __device__ void add_magnitude(const Digits& to, Wide magnitude, int exponent, bool negative, Add&& add) {
  const int position = exponent - to.lowest;
  const int shift = position & 31;
  const int digit = position >> 5;
  const std::uint64_t words[4] = {magnitude.low & 0xffffffff, magnitude.low >> 32, magnitude.high & 0xffffffff,
                                  magnitude.high >> 32};
  std::uint64_t carried = 0;
  for (int w = 0; w < 4; ++w) {
    const std::uint64_t whole = words[w] << shift | carried;
    const auto part = static_cast<std::int64_t>(w < 3 ? whole & 0xffffffff : whole);
    carried = whole >> 32;
    if (part != 0) add(to[digit + w], negative ? -part : part);
  }
}

/// Adds a product of two numbers of f32 or of a narrower type, which has 48 bits at most: to two digits.
__host__ __device__ inline void add_narrow_product(const Digits& to, double product) {
  const auto bits = __builtin_bit_cast(std::uint64_t, product);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  if (field == 0) return;  // zero
  const auto magnitude =
      static_cast<std::int64_t>((bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52) >> 5;
  const std::int64_t value = bits >> 63 != 0 ? -magnitude : magnitude;
  const int position = field - 1070 - to.lowest;
  const int shift = position & 31;
  to[position >> 5] += static_cast<std::uint32_t>(value) << shift;
  to[(position >> 5) + 1] += value >> (32 - shift);
}

template <class Add>
__host__ __device__ void add_product(const Digits& to, double x, double y, Add&& add) {
  const Significand p = significand_of(x);
  const Significand q = significand_of(y);
  add_magnitude(to, multiply_wide(p.magnitude, q.magnitude), p.exponent + q.exponent, p.negative != q.negative, add);
}

template <class Add>
__host__ __device__ void add_number(const Digits& to, double x, Add&& add) {
  const Significand p = significand_of(x);
  add_magnitude(to, {p.magnitude, 0}, p.exponent, p.negative, add);
}

/// factor times digit `index` of a number, which has 63 bits at most.
template <class Add>
__host__ __device__ void add_scaled(const Digits& to, double factor, const Digits& number, int index, Add&& add) {
  const std::int64_t digit = number[index];
  if (digit == 0) return;
  const Significand f = significand_of(factor);
  const auto magnitude = static_cast<std::uint64_t>(digit < 0 ? -digit : digit);
  add_magnitude(to, multiply_wide(f.magnitude, magnitude), f.exponent + 32 * index + number.lowest,
                f.negative != (digit < 0), add);
}

/// Digits of 32 bits each, the last one with the sign; digits of up to 62 bits have come in.
__host__ __device__ inline void carry_all(const Digits& digits, int count) {
  std::int64_t carry = 0;
  for (int d = 0; d + 1 < count; ++d) {
    carry += digits[d];
    digits[d] = carry & 0xffffffff;
    carry >>= 32;
  }
  digits[count - 1] += carry;
}

/// What a type's numbers are: p significant bits, and the exponent of the smallest positive one.
struct Format {
  int precision;
  int lowest_exponent;
};

/// The number rounded once to nearest, ties to even, as a double, infinite beyond its range. Digits are carried.
[[nodiscard]] __host__ __device__ inline double rounded(const Digits& digits, int count, Format format) {
  carry_all(digits, count);
  const bool negative = digits[count - 1] < 0;
  if (negative) {
    for (int d = 0; d < count; ++d) digits[d] = -digits[d];
    carry_all(digits, count);
  }
  int top = count - 1;
  while (top >= 0 && digits[top] == 0) --top;
  if (top < 0) return 0;
  const auto digit = [&](int d) {
    return d < 0 || d >= count ? std::uint64_t{0} : static_cast<std::uint64_t>(digits[d]);
  };
  int width = 0;
  for (std::uint64_t rest = digit(top); rest != 0; rest >>= 1) ++width;
  const int first_bit = 32 * top + digits.lowest + width - 1;
  const int last_bit = std::max(first_bit - format.precision + 1, format.lowest_exponent);
  // The bit behind the last one may lie below all digits.
  const int guard = last_bit - 1 - digits.lowest;
  const int guard_digit = guard >> 5;
  const int shift = guard & 31;
  const std::uint64_t low = digit(guard_digit) | digit(guard_digit + 1) << 32;
  const std::uint64_t high = digit(guard_digit + 2) | digit(guard_digit + 3) << 32;
  const std::uint64_t window = low >> shift | (shift == 0 ? 0 : high << (64 - shift));
  std::uint64_t significand = window >> 1;
  bool beyond = (low & ((std::uint64_t{1} << shift) - 1)) != 0;
  for (int d = 0; d < guard_digit && !beyond; ++d) beyond = digits[d] != 0;
  if ((window & 1) != 0 && (beyond || (significand & 1) != 0)) ++significand;
  const double magnitude = ldexp(static_cast<double>(significand), last_bit);
  return negative ? -magnitude : magnitude;
}

/// Where a kernel's numbers lie. `lowest` of sums is below every product's last bit, `whole_lowest` below that of every
/// product of a factor and a sum; the digits reach as far beyond the largest ones as 2^28 terms do.
template <bool IsWide>
struct Extent;
template <>
struct Extent<false> {  // f32: products from 2^-298 on, in 48 bits
  static constexpr int lowest = -352, digits = 21, whole_lowest = -576, whole_digits = 34;
};
template <>
struct Extent<true> {  // f64: products from 2^-2148 on
  static constexpr int lowest = -2176, digits = 135, whole_lowest = -3264, whole_digits = 204;
};

}  // namespace exactile::cuda::certified
