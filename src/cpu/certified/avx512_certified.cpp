// SPDX-License-Identifier: Apache-2.0
// Compiled with this instruction set's flags, and called only after isa.cpp found it.
#include "cpu/certified/highway_vector.hpp"
#include "cpu/certified/tile.hpp"

namespace exactile::cpu {

const CertifiedKernels& avx512_certified(ElementType input) {
  using namespace HWY_NAMESPACE;
  const bool wide = input == ElementType::f64 || input == ElementType::cf64;
  return wide ? extracting_kernels<Doubles, 6, 2> : plain_kernels<Doubles, 12, 2>;
}

}  // namespace exactile::cpu
