// SPDX-License-Identifier: Apache-2.0
/// \file
/// The contract between the loops of certified.cpp and its micro-kernels. Operands are panels of f64: all terms of
/// `rows` rows of A, or of `columns` columns of B, term after term. Each element's operations and their order are the
/// same in every instruction set, so the bits are.
#pragma once

#include <cstdint>

#include "exactile/types.hpp"

namespace exactile::cpu {

/// Terms of one chain of additions. The chains' sums are added in order.
inline constexpr std::int64_t certified_chunk = 128;

/// What is known of the lines of a panel, rows of A or columns of B, beside their elements.
struct Lines {
  double* norms;   ///< |sum_k a_ik b_kj| and the sum of absolute values are at most norm_i * norm_j
  double* steps;   ///< each element is a multiple of this power of two; infinite where all are zero
  double* grains;  ///< norm / step
};

/// Sums as those of multiply(): high + low, or high alone.
struct Sums {
  double* high;
  double* low;
};

/// Windows of bits, from the highest down, that hold every product of one row without a rest: a product's part in a
/// window is its sum with `start` less `start`, and sums of such parts are exact.
inline constexpr int most_windows = 16;
struct Windows {
  int count = 0;
  double starts[most_windows] = {};
};

/// How far the sums of a row may be off: 0 where grains say that they are exact, else relative * norms + absolute.
struct Doubt {
  double row_norm;
  double row_step;
  double row_grain;
  Lines columns;
  double relative;
  double absolute;
  double largest_grain;  ///< of row times column, of exact sums
};

/// One instruction set's micro-kernels for one way of summing.
struct CertifiedKernels {
  int rows;
  int columns;
  bool extracts;  ///< high + low by extraction (f64), else one chain of f64 (narrower types, whose products are exact)
  /// Adds a chunk of terms to sums of `rows` x `columns`.
  void (*multiply)(const double* a, const double* b, std::int64_t terms, const double* row_norms,
                   const double* column_norms, Sums sums);
  /// One row of a tile once more, without an error; `a` at its first term. sums[w * columns + j] are those of window w.
  void (*refine)(const double* a, const double* b, std::int64_t terms, const Windows& windows, double* sums);
  /// Lanes of f32, rows of A or columns of B, as a panel; null where f32 is not summed so.
  void (*pack_rows)(const float* from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes,
                    std::int64_t terms, double* panel);
  void (*pack_columns)(const float* from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes,
                       std::int64_t terms, double* panel);
  /// Adds some terms of a panel, of A or of B, to what is known of its lines, whose norms are zero and steps infinite
  /// at first. Norms are sums of squares; with extraction sums of absolute values, of B's columns the largest one.
  void (*measure)(const double* panel, std::int64_t terms, bool is_b, Lines lines);
  /// Rounds a row of sums, `count` of them: `to` where what they may be off by makes no difference; the other bits of
  /// the answer are set. f32 without extraction, f64 with it. `to` has room for all columns.
  std::uint64_t (*round_row)(const Doubt& doubt, const double* high, const double* low, int count, void* to);
};

const CertifiedKernels& avx512_certified(ElementType input);
const CertifiedKernels& avx2_certified(ElementType input);
const CertifiedKernels& neon_certified(ElementType input);
const CertifiedKernels& portable_certified(ElementType input);

}  // namespace exactile::cpu
