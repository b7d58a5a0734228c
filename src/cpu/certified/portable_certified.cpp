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
  static double smaller(double x, double y) { return x < y ? x : y; }
  static double last_bit(double x) { return HWY_NAMESPACE::last_bit(x); }
  static double zero_where_exact(double error, double grains, double largest, double steps) {
    return grains <= largest && steps > 0 ? 0 : error;
  }
  static std::uint64_t round_to_floats(double least, double most, float* to) {
    *to = static_cast<float>(least);
    const bool is_same = std::bit_cast<std::uint32_t>(*to) == std::bit_cast<std::uint32_t>(static_cast<float>(most));
    return is_same && std::fabs(*to) <= std::numeric_limits<float>::max() ? 0 : 1;
  }
};

}  // namespace

const CertifiedKernels& portable_certified(ElementType input) {
  using namespace HWY_NAMESPACE;
  const bool wide = input == ElementType::f64 || input == ElementType::cf64;
  return wide ? extracting_kernels<OneDouble, 2, 4> : plain_kernels<OneDouble, 2, 8>;
}

}  // namespace exactile::cpu
