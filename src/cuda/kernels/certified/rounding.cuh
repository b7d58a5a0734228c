// SPDX-License-Identifier: Apache-2.0
/// \file
/// One component of an element of C from sums in f64: Ziv's test. The device's twin of cpu/certified/settle.hpp; the
/// host can call it, which is how it is tested without a device. Operations are named, so that no compiler fuses them.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "cuda/kernels/certified/fixed_point.cuh"
#include "cuda/tile/types.cuh"

namespace exactile::cuda::certified {

[[nodiscard]] __host__ __device__ inline double add_rn(double x, double y) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(x, y);
#else
  return x + y;
#endif
}
[[nodiscard]] __host__ __device__ inline double multiply_rn(double x, double y) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(x, y);
#else
  return x * y;
#endif
}

/// What x + y lacks, their sum rounded being `sum`.
[[nodiscard]] __host__ __device__ inline double lost_by(double x, double y, double sum) {
  const double of_y = add_rn(sum, -x);
  return add_rn(add_rn(x, -add_rn(sum, -of_y)), add_rn(y, -of_y));
}

/// A number in two parts, and how far it may be off.
struct Interval {
  double high = 0;
  double low = 0;
  double error = 0;
  double size = 0;  ///< of all that was added up

  /// What is too small for its residue to be exact counts as off by that.
  __host__ __device__ void add_product(double x, double y) {
    const double product = multiply_rn(x, y);
    if (fabs(product) < 0x1p-900 && x != 0 && y != 0) error += 0x1p-1070;
    add(product);
    add_below(fma(x, y, -product));
  }
  __host__ __device__ void add(double x) {
    const double sum = add_rn(high, x);
    add_below(lost_by(high, x, sum));
    high = sum;
    size += fabs(x);
  }

 private:
  __host__ __device__ void add_below(double x) {
    const double sum = add_rn(low, x);
    error += fabs(lost_by(low, x, sum));
    low = sum;
  }
};

template <class Out>
inline constexpr Format format_of{24, -149};
template <>
inline constexpr Format format_of<double>{53, -1074};
template <>
inline constexpr Format format_of<__half>{11, -24};
template <>
inline constexpr Format format_of<__nv_bfloat16>{8, -133};

/// Bits of the number next to x, up or down, where x is not what it should be and has an even last bit: rounding to
/// odd, after which a second rounding to fewer bits does no harm (S. Boldo and G. Melquiond, 2008).
template <class Float, class Bits>
[[nodiscard]] __host__ __device__ Float to_odd(Float x, double missing) {
  const auto bits = __builtin_bit_cast(Bits, x);
  if (missing == 0 || (bits & 1) != 0) return x;
  return __builtin_bit_cast(Float, (missing > 0) == !std::signbit(x) ? bits + 1 : bits - 1);
}

/// An element; all NaNs are one.
template <class Out>
[[nodiscard]] __host__ __device__ Out element_of(double x) {
  if constexpr (std::is_same_v<Out, double>) {
    return std::isnan(x) ? __builtin_bit_cast(double, std::uint64_t{0x7ff8000000000000}) : x;
  } else if constexpr (std::is_same_v<Out, float>) {
    return std::isnan(x) ? __builtin_bit_cast(float, 0x7fc00000U) : static_cast<float>(x);
  } else if constexpr (std::is_same_v<Out, __half>) {
    return std::isnan(x) ? __half(__half_raw{0x7e00}) : __float2half_rn(static_cast<float>(x));
  } else {
    return std::isnan(x) ? __nv_bfloat16(__nv_bfloat16_raw{0x7fc0}) : __float2bfloat16_rn(static_cast<float>(x));
  }
}

template <class Out>
[[nodiscard]] __host__ __device__ double number_of(Out x) {
  if constexpr (std::is_same_v<Out, __half>)
    return static_cast<double>(__half2float(x));
  else if constexpr (std::is_same_v<Out, __nv_bfloat16>)
    return static_cast<double>(__bfloat162float(x));
  else
    return static_cast<double>(x);
}

/// high + low rounded once to Out, as a double; infinite beyond its range.
template <class Out>
[[nodiscard]] __host__ __device__ double rounded_sum(double high, double low) {
  const double sum = add_rn(high, low);
  if constexpr (std::is_same_v<Out, double>) return sum;
  const double odd = to_odd<double, std::uint64_t>(sum, lost_by(high, low, sum));
  const auto nearest = static_cast<float>(odd);
  if constexpr (std::is_same_v<Out, float>) return static_cast<double>(nearest);
  const double lacks = std::isinf(nearest) ? -static_cast<double>(nearest) : add_rn(odd, -static_cast<double>(nearest));
  return number_of(element_of<Out>(static_cast<double>(to_odd<float, std::uint32_t>(nearest, lacks))));
}

/// The value rounded, where its error makes no difference: both ends round to one number of one sign (A. Ziv, 1991).
template <class Out>
[[nodiscard]] __host__ __device__ bool round_certainly(Interval value, double& to) {
  if (!(value.size < 0x1p1000)) return false;
  // Sums of parts and errors are rounded themselves.
  if (value.error != 0) value.error += value.size * 0x1p-100 + 0x1p-1060;
  to = rounded_sum<Out>(value.high, add_rn(value.low, -value.error));
  const double most = rounded_sum<Out>(value.high, add_rn(value.low, value.error));
  return to == most && std::signbit(to) == std::signbit(most);
}

/// One component: sum_t factor[t] * sums[t] + sum_t fixed[t][0] * fixed[t][1] + bias; two of each where the product is
/// complex.
struct Form {
  int count = 0;
  double factor[2] = {};
  int sum[2] = {};  ///< 0 real, 1 imaginary part
  int fixed_count = 0;
  double fixed[2][2] = {};
  double bias = 0;

  __host__ __device__ void add(double f, int which) {
    factor[count] = f;
    sum[count++] = which;
  }
  __host__ __device__ void add_fixed(double x, double y) {
    fixed[fixed_count][0] = x;
    fixed[fixed_count++][1] = y;
  }
  [[nodiscard]] __host__ __device__ bool is_finite() const {
    double all = bias * 0;
    for (int t = 0; t < count; ++t) all += factor[t] * 0;
    for (int t = 0; t < fixed_count; ++t) all += fixed[t][0] * 0 + fixed[t][1] * 0;
    return all == 0;
  }
  /// The value where a factor or a sum is not finite: what is finite then matters by its sign alone.
  [[nodiscard]] __host__ __device__ double special(const double (&sums)[2]) const {
    double value = sign(bias);
    for (int t = 0; t < count; ++t) value += sign(factor[t]) * sign(sums[sum[t]]);
    for (int t = 0; t < fixed_count; ++t) value += sign(fixed[t][0]) * sign(fixed[t][1]);
    return value;
  }

 private:
  [[nodiscard]] static __host__ __device__ double sign(double x) {
    return std::isfinite(x) ? (x == 0 ? 0.0 : copysign(1.0, x)) : x;
  }
};

}  // namespace exactile::cuda::certified
