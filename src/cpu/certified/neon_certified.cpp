// SPDX-License-Identifier: Apache-2.0
// Every AArch64 processor has these instructions.
#include "cpu/certified/highway_vector.hpp"
#include "cpu/certified/tile.hpp"

namespace exactile::cpu {

const CertifiedKernels& neon_certified(ElementType input) {
  using namespace HWY_NAMESPACE;
  const bool wide = input == ElementType::f64 || input == ElementType::cf64;
  return wide ? extracting_kernels<Doubles, 3, 4> : plain_kernels<Doubles, 6, 4>;
}

}  // namespace exactile::cpu
