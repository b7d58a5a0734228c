// SPDX-License-Identifier: Apache-2.0
/// \file Coefficients of a cost model from measured times.
#pragma once

#include <cmath>
#include <span>

namespace exactile::tuning {

/// Steps every coefficient up and down by a factor, and takes smaller factors where none helps, or all together by no
/// more than the share `negligible`. error() is what is to be least; a coefficient of zero stays zero.
template <class Error>
void descend(std::span<double* const> coefficients, Error&& error, double negligible = 0) {
  constexpr double first = 1.6, last = 1.004;
  double least = error();
  for (double factor = first; factor > last;) {
    const double before_all = least;
    for (double* coefficient : coefficients)
      for (const double by : {factor, 1 / factor}) {
        const double before = *coefficient;
        *coefficient *= by;
        if (const double now = error(); now < least) {
          least = now;
          break;
        }
        *coefficient = before;
      }
    if (!(least < before_all * (1 - negligible))) factor = std::sqrt(factor);
  }
}

}  // namespace exactile::tuning
