// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is due at an element, by MPFR: exact sums, rounded once.
#pragma once

#include <mpfr.h>

#include <vector>

#include "exactile/exactile.hpp"

namespace exactile::test {

/// What a sum consists of: products of two or three numbers.
struct Term {
  double x;
  double y;
  double factor = 1;
};

class ExactValue {
 public:
  /// Enough bits for every sum of products of three numbers of f64.
  ExactValue();
  ExactValue(const ExactValue&) = delete;
  ExactValue& operator=(const ExactValue&) = delete;
  ~ExactValue();

  void set(const std::vector<Term>& terms);
  /// Rounded to nearest, ties to even, in `type` (or its components' type).
  [[nodiscard]] double rounded(ElementType type);
  /// |x - value| and |value|, each rounded to double, towards zero and away from it.
  [[nodiscard]] double distance(double x);
  [[nodiscard]] double magnitude() const;
  /// The sum of the terms' absolute values.
  [[nodiscard]] double absolute() const;

 private:
  double special_ = 0;
  mpfr_t value_, absolute_, product_, scaled_;
};

}  // namespace exactile::test
