// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a contender's result is right, and how far from exact. A wrong product is not worth timing.
#pragma once

#include <string>

#include "rivals/contender.hpp"

namespace exactile::bench {

struct Judgement {
  std::string error = {};     ///< empty where the result is right; else one sentence that names an element
  double over_bound = 0;      ///< the largest error of the sample, as a fraction of what is allowed
  double relative_error = 0;  ///< and relative to the element's own value
  double norm_error = 0;      ///< the sample's Frobenius norm of errors over that of the exact elements
};

/// Right is: every element of C is a number, and a sample of them lies within the bound of the plain loop,
/// gamma_k * |A||B| in the type that sums and one rounding to C's type, of the long double result; integers are exact.
[[nodiscard]] Judgement judge(const Product& product, Operands operands);

}  // namespace exactile::bench
