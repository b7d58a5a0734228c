// SPDX-License-Identifier: Apache-2.0
/// \file
/// The sums sum_k a_ik * b_kj in higher precision, one row of one panel of columns at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "exactile/plan.hpp"
#include "verification/bound.hpp"

namespace exactile::verification {

/// Floating and complex types: double for accumulators narrower than double, compensated double for f64 and cf64, and
/// where more than `standard` is promised.
/// Neither A nor B is read when alpha is zero.
class FloatOracle {
 public:
  FloatOracle(const GemmDescription& description, const GemmArguments& arguments, Accuracy accuracy);

  /// Columns that are handled together: B's panel stays small and near.
  [[nodiscard]] std::int64_t panel_columns() const { return panel_columns_; }
  /// Reads the columns first ... first + columns - 1 of product p's B.
  void open(std::int64_t p, std::int64_t first, std::int64_t columns);
  /// Forms the sums of row i and the open columns.
  void form(std::int64_t i);
  [[nodiscard]] InnerProduct real(std::int64_t column) const { return finished(real_, column, false); }
  [[nodiscard]] InnerProduct imaginary(std::int64_t column) const {
    return complex_ ? finished(imaginary_, column, true) : InnerProduct{};
  }

 private:
  struct Sums {
    std::vector<double> hi, lo, magnitude;
  };
  void add(double a, const double* b, Sums& sums) const;
  [[nodiscard]] InnerProduct finished(const Sums& sums, std::int64_t column, bool imaginary) const;
  [[nodiscard]] InnerProduct classify(std::int64_t column, bool imaginary) const;

  GemmDescription description_;
  GemmArguments arguments_;
  bool complex_;
  bool compensated_;
  bool reads_;
  double least_weight_;
  std::int64_t panel_columns_;
  std::int64_t columns_ = 0;
  const void* a_base_ = nullptr;
  std::vector<double> a_real_, a_imaginary_;  // one row of A
  std::vector<double> b_real_, b_imaginary_;  // k x columns_
  Sums real_, imaginary_;
};

/// Integers modulo 2^64; the caller keeps the low bits of its type.
class IntegerOracle {
 public:
  IntegerOracle(const GemmDescription& description, const GemmArguments& arguments);

  [[nodiscard]] std::int64_t panel_columns() const { return panel_columns_; }
  void open(std::int64_t p, std::int64_t first, std::int64_t columns);
  void form(std::int64_t i);
  [[nodiscard]] std::uint64_t sum(std::int64_t column) const { return sums_[static_cast<std::size_t>(column)]; }

 private:
  GemmDescription description_;
  GemmArguments arguments_;
  bool reads_;
  std::int64_t panel_columns_;
  std::int64_t columns_ = 0;
  const void* a_base_ = nullptr;
  std::vector<std::uint64_t> a_, b_, sums_;
};

}  // namespace exactile::verification
