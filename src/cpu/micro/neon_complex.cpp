// SPDX-License-Identifier: Apache-2.0
// Every AArch64 processor has these instructions.
#include "cpu/micro/highway_kernels.hpp"

namespace exactile::cpu {

// 32 registers: 24 sums, 2 of B, 1 of A. A complex sum is two.
const MicroKernels<std::complex<float>>& neon_cf32() {
  using namespace HWY_NAMESPACE;
  return plain_kernels<std::complex<float>, 12>(2, &pack_complex_panels, &add_complex_sums<float>);
}
const MicroKernels<std::complex<double>>& neon_cf64() {
  using namespace HWY_NAMESPACE;
  return plain_kernels<std::complex<double>, 12>(2, &pack_panels<std::complex<double>>, &add_complex_sums<double>);
}

}  // namespace exactile::cpu
