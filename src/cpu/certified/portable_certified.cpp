// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "cpu/certified/tile.hpp"

namespace exactile::cpu {
namespace {

/// A register of one number. Fused where the result needs it, whatever the processor has.
struct OneDouble {
  using Register = double;
  static constexpr int lanes = 1;

  static double set(double x) { return x; }
  static double load(const double* from) { return *from; }
  static void store(double x, double* to) { *to = x; }
  static double add(double x, double y) { return x + y; }
  static double subtract(double x, double y) { return x - y; }
  static double multiply(double x, double y) { return x * y; }
  static double multiply_add(double x, double y, double z) { return std::fma(x, y, z); }
  static double multiply_subtract(double x, double y, double z) { return std::fma(x, y, -z); }
  static double magnitude(double x) { return std::fabs(x); }
  static void add_exact_product(double& sum, double x, double y) { sum += x * y; }
};

}  // namespace

const CertifiedKernels& portable_certified(ElementType input) {
  using namespace HWY_NAMESPACE;
  const bool wide = input == ElementType::f64 || input == ElementType::cf64;
  return wide ? extracting_kernels<OneDouble, 2, 4> : plain_kernels<OneDouble, 2, 8>;
}

}  // namespace exactile::cpu
