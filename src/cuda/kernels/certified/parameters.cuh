// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the kernels of a certified product share. A complex product is a real one of twice as many columns and terms:
/// A's terms are (real, imaginary), B's columns (real, -imaginary) and (imaginary, real). C is read so that its rows'
/// direction is the contiguous one, where one is.
#pragma once

#include <cstdint>

#include "core/trust.hpp"
#include "cuda/kernels/certified/fixed_point.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::certified {

/// Terms of a chain of additions; chains' sums are added in order.
inline constexpr int chunk_k = 512;
/// A chain takes so many terms at a time, one behind the other, in an order of the tensor core's.
inline constexpr int step_k = 8;
/// Digits of fixed-point sums hold twice so many products.
inline constexpr std::int64_t most_terms = std::int64_t{1} << 28;

/// What is known of a row of A or a column of B beside its elements.
struct Line {
  double norm;   ///< how far a sum may be off is trust.relative * norm_i * norm_j + trust.absolute
  double step;   ///< each element is a multiple of this power of two; infinite where all are zero
  double grain;  ///< of elements in units of step: a sum of absolute values is at most grain_i * grain_j
};

/// Elements of an operand as f64, exactly: `lanes` rows of A or columns of B, of `terms` each.
struct Panel {
  double* elements;
  Line* lines;
  std::int64_t lanes;
  std::int64_t terms;
  std::int64_t lane_stride;
  std::int64_t term_stride;
  std::int64_t product_stride;  ///< 0 where all products share it
  std::int64_t line_stride;     ///< the same of lines

  [[nodiscard]] __device__ const double* lane(std::int64_t product, std::int64_t lane) const {
    return elements + product * product_stride + lane * lane_stride;
  }
  [[nodiscard]] __device__ const Line& line(std::int64_t product, std::int64_t lane) const {
    return lines[product * line_stride + lane];
  }
};

/// Sums: high + low, or high alone. A column after the other.
struct Sums {
  double* high;
  double* low;
  std::int64_t pitch;
  std::int64_t product_stride;
};

/// Elements of 32 rows of a column that are in doubt.
struct Doubt {
  std::uint32_t word;   ///< which rows: words are counted down columns, one behind the other
  std::uint32_t marks;  ///< one bit an element
};

/// Everything behind the sums.
struct Finish {
  Panel a = {};
  Panel b = {};
  const float* a_by_terms = nullptr;  ///< a's elements again, a lane's terms side by side; or null
  Sums sums = {};
  core::Trust trust;     ///< where grains do not say that sums are exact
  std::int64_t rows;     ///< of C
  std::int64_t columns;  ///< of C, complex ones counted once
  std::int64_t products;
  void* c;
  OperandLayout c_layout;
  const void* bias;
  Bias bias_kind;
  bool relu;
  bool is_plain = false;  ///< alpha = 1, beta = 0, no bias
  double alpha[2] = {};   ///< as rounded to the type that sums; real, imaginary
  double beta[2] = {};
  Doubt* doubts;  ///< in no order
  std::uint32_t* doubt_count;
  std::int64_t column_words;   ///< words of a column
  std::int64_t product_words;  ///< words of a product
};

/// How many roundings a term passes through at most, those of E and of its own product with a norm included.
[[nodiscard]] __host__ __device__ inline double roundings_of(std::int64_t term, std::int64_t terms) {
  const std::int64_t chunk = term / chunk_k;
  const std::int64_t left =
      (terms - chunk * chunk_k < chunk_k ? terms - chunk * chunk_k : chunk_k) - term % chunk_k / step_k * step_k;
  return static_cast<double>(left + (terms - 1) / chunk_k + 1 - chunk + 2);
}

}  // namespace exactile::cuda::certified
