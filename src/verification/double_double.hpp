// SPDX-License-Identifier: Apache-2.0
/// \file
/// Error-free transformations and the sums built from them (T. Ogita, S. M. Rump, S. Oishi, Accurate sum and dot
/// product, SIAM J. Sci. Comput. 26(6), 2005). Independent of the library's own, on purpose.
#pragma once

#include <cmath>
#include <cstdint>

namespace exactile::verification {

/// The unevaluated sum hi + lo.
struct DoubleDouble {
  double hi = 0;
  double lo = 0;
};

/// Knuth: a + b = hi + lo exactly.
[[nodiscard]] inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

/// a * b = hi + lo exactly, unless the product underflows.
[[nodiscard]] inline DoubleDouble two_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

[[nodiscard]] inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble sum = two_sum(a.hi, b.hi);
  return two_sum(sum.hi, sum.lo + (a.lo + b.lo));
}

[[nodiscard]] inline DoubleDouble operator*(DoubleDouble a, double b) {
  const DoubleDouble product = two_product(a.hi, b);
  return two_sum(product.hi, product.lo + a.lo * b);
}

/// sum[j] += a * b[j] and magnitude[j] += |a * b[j]| in double.
void accumulate(std::int64_t n, double a, const double* b, double* sum, double* magnitude);

/// The same with a compensated sum (Dot2): hi[j] + lo[j] is as if summed in twice the precision of double.
void accumulate_compensated(std::int64_t n, double a, const double* b, double* hi, double* lo, double* magnitude);

}  // namespace exactile::verification
