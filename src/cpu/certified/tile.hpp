// SPDX-License-Identifier: Apache-2.0
/// \file
/// The micro-kernels of certified sums, written once for a register type V and compiled for each instruction set.
/// Compiled without contraction: what is fused says so.
#pragma once

#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/certified/kernels.hpp"
#include "cpu/certified/lines.hpp"

// Of one instruction set: the linker would else take anyone's copy of a function for all.
namespace exactile::cpu::HWY_NAMESPACE {

/// Asks for the terms of B that the next chunk has: its first tile would wait for them behind L2.
template <int Columns>
inline void ask_ahead(const double* b) {
#pragma GCC unroll 2
  for (int line = 0; line < Columns; line += 8) __builtin_prefetch(b + certified_chunk * Columns + line, 0, 2);
}

// Loops over registers are unrolled wherever they are: an array that one loop indexes is left in memory by all.

/// Sums of exact products, one chain each.
template <class V, int Rows, int Vectors>
void multiply_plain(const double* a, const double* b, std::int64_t terms, const double*, const double*, Sums sums) {
  using R = typename V::Register;
  R tile[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) tile[i][v] = V::set(0);
  for (; terms > 0; --terms, a += Rows, b += Vectors * V::lanes) {
    ask_ahead<Vectors * V::lanes>(b);
    R b_row[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) b_row[v] = V::load(b + v * V::lanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const R element = V::set(a[i]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) V::add_exact_product(tile[i][v], element, b_row[v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      double* sum = sums.high + (i * Vectors + v) * V::lanes;
      V::store(V::add(V::load(sum), tile[i][v]), sum);
    }
}

/// Sums of f64 in two parts. A chain starts at a number so large that all sums on the way have its exponent: then what
/// a multiply-add adds to it is a multiple of one unit, known without an error, and the rest of the product is, too,
/// but for one rounding. (Extraction against a constant: Rump, Ogita and Oishi, Accurate floating-point summation,
/// 2008.)
template <class V, int Rows, int Vectors>
void multiply_extracting(const double* a, const double* b, std::int64_t terms, const double* row_norms,
                         const double* column_norms, Sums sums) {
  using R = typename V::Register;
  R high[Rows][Vectors];
  R low[Rows][Vectors];
  const auto start = [&](int i, int v) {
    return V::multiply(V::set(3 * row_norms[i]), V::load(column_norms + v * V::lanes));
  };
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      high[i][v] = start(i, v);
      low[i][v] = V::set(0);
    }
  for (; terms > 0; --terms, a += Rows, b += Vectors * V::lanes) {
    ask_ahead<Vectors * V::lanes>(b);
    R b_row[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) b_row[v] = V::load(b + v * V::lanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const R element = V::set(a[i]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) {
        const R sum = V::multiply_add(element, b_row[v], high[i][v]);
        const R part = V::subtract(sum, high[i][v]);
        high[i][v] = sum;
        low[i][v] = V::add(low[i][v], V::multiply_subtract(element, b_row[v], part));
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      const int at = (i * Vectors + v) * V::lanes;
      V::store(V::add(V::load(sums.high + at), V::subtract(high[i][v], start(i, v))), sums.high + at);
      V::store(V::add(V::load(sums.low + at), low[i][v]), sums.low + at);
    }
}

/// Takes products apart at fixed bits (as J. Demmel and H. D. Nguyen, Fast reproducible floating-point summation, 2013,
/// do). A product of two numbers of f64 is two.
template <class V, int Rows, int Vectors, bool ExactProducts>
void refine_row(const double* a, const double* b, std::int64_t terms, const Windows& windows, double* sums) {
  using R = typename V::Register;
  for (int v = 0; v < Vectors; ++v) {
    R parts[most_windows];
    for (int w = 0; w < windows.count; ++w) parts[w] = V::set(0);
    for (std::int64_t p = 0; p < terms; ++p) {
      const R element = V::set(a[p * Rows]);
      const R other = V::load(b + (p * Vectors + v) * V::lanes);
      R product = V::multiply(element, other);
      R error = ExactProducts ? V::set(0) : V::multiply_subtract(element, other, product);
      for (int w = 0; w < windows.count; ++w) {
        const R start = V::set(windows.starts[w]);
        const R part = V::subtract(V::add(product, start), start);
        product = V::subtract(product, part);
        parts[w] = V::add(parts[w], part);
        if constexpr (!ExactProducts) {
          const R of_error = V::subtract(V::add(error, start), start);
          error = V::subtract(error, of_error);
          parts[w] = V::add(parts[w], of_error);
        }
      }
    }
    for (int w = 0; w < windows.count; ++w) V::store(parts[w], sums + (w * Vectors + v) * V::lanes);
  }
}

inline double doubt_of(const Doubt& d, int j) {
  const double error = d.relative * (d.row_norm * d.columns.norms[j]) + d.absolute;
  const bool exact = d.row_grain * d.columns.grains[j] <= d.largest_grain && d.row_step * d.columns.steps[j] > 0;
  return exact ? 0 : error;
}

/// Both ends of the interval that holds the exact sum, rounded; certain where they are the same, finite number.
template <class V, int Vectors>
std::uint64_t round_to_floats(const Doubt& d, const double* high, const double*, int count, void* to) {
  std::uint64_t doubtful = 0;
  const bool rounds_as_it_is = d.relative == 0 && d.absolute == 0;
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) {
    if (rounds_as_it_is) {
      const auto sum = V::load(high + v * V::lanes);
      doubtful |= V::round_to_floats(sum, sum, static_cast<float*>(to) + v * V::lanes) << (v * V::lanes);
      continue;
    }
    const int first = v * V::lanes;
    const auto norms = V::multiply(V::set(d.row_norm), V::load(d.columns.norms + first));
    const auto error =
        V::zero_where_exact(V::add(V::multiply(V::set(d.relative), norms), V::set(d.absolute)),
                            V::multiply(V::set(d.row_grain), V::load(d.columns.grains + first)), d.largest_grain,
                            V::multiply(V::set(d.row_step), V::load(d.columns.steps + first)));
    const auto sum = V::load(high + first);
    const std::uint64_t here =
        V::round_to_floats(V::subtract(sum, error), V::add(sum, error), static_cast<float*>(to) + first);
    doubtful |= here << first;
  }
  return doubtful & ((std::uint64_t{1} << count) - 1);
}

inline std::uint64_t round_to_doubles(const Doubt& doubt, const double* high, const double* low, int count, void* to) {
  std::uint64_t doubtful = 0;
  for (int j = 0; j < count; ++j) {
    const double of_low = (high[j] + low[j]) - high[j];
    const double sum = high[j] + low[j];
    const double below = (high[j] - (sum - of_low)) + (low[j] - of_low);
    const double error = doubt_of(doubt, j);
    const double least = sum + (below - error);
    const double most = sum + (below + error);
    const bool is_certain = std::bit_cast<std::uint64_t>(least) == std::bit_cast<std::uint64_t>(most) &&
                            std::fabs(least) <= std::numeric_limits<double>::max();
    static_cast<double*>(to)[j] = least;
    doubtful |= std::uint64_t{is_certain ? 0U : 1U} << j;
  }
  return doubtful;
}

template <class V, int Rows, int Vectors>
inline constexpr CertifiedKernels plain_kernels{.rows = Rows,
                                                .columns = Vectors* V::lanes,
                                                .extracts = false,
                                                .multiply = multiply_plain<V, Rows, Vectors>,
                                                .refine = refine_row<V, Rows, Vectors, true>,
                                                .pack_rows = pack_lanes<Rows>,
                                                .pack_columns = pack_lanes<Vectors * V::lanes>,
                                                .measure = measure_squares<V, Rows, Vectors * V::lanes>,
                                                .round_row = round_to_floats<V, Vectors>};

template <class V, int Rows, int Vectors>
inline constexpr CertifiedKernels extracting_kernels{.rows = Rows,
                                                     .columns = Vectors* V::lanes,
                                                     .extracts = true,
                                                     .multiply = multiply_extracting<V, Rows, Vectors>,
                                                     .refine = refine_row<V, Rows, Vectors, false>,
                                                     .pack_rows = nullptr,
                                                     .pack_columns = nullptr,
                                                     .measure = measure_sums<Rows, Vectors * V::lanes>,
                                                     .round_row = round_to_doubles};

}  // namespace exactile::cpu::HWY_NAMESPACE
