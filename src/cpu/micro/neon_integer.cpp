// SPDX-License-Identifier: Apache-2.0
// Every AArch64 processor has these instructions.
#include "cpu/micro/highway_kernels.hpp"

namespace exactile::cpu {

// 32 registers: 24 sums, 2 of B, 1 of A.
const MicroKernels<std::int32_t>& neon_i32() {
  using namespace HWY_NAMESPACE;
  return plain_kernels<std::int32_t, 24>(1, &pack_panels<std::int32_t>, &add_sums<std::int32_t>);
}
// A product is one of 32 bits and two more of halves.
const MicroKernels<std::int64_t>& neon_i64() {
  using namespace HWY_NAMESPACE;
  return plain_kernels<std::int64_t, 12>(8, &pack_panels<std::int64_t>, &add_sums<std::int64_t>);
}

}  // namespace exactile::cpu
