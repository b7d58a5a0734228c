// SPDX-License-Identifier: Apache-2.0
// Compiled with this instruction set's flags, and called only after isa.cpp found it.
#include "cpu/micro/highway_kernels.hpp"

namespace exactile::cpu {

// 32 registers: 24 sums, 2 of B, 1 of A, 1 of products.
const MicroKernels<std::int32_t>& avx512_i32() {
  using namespace HWY_NAMESPACE;
  return plain_kernels<std::int32_t, 24>(2, &pack_panels<std::int32_t>, &add_sums<std::int32_t>);
}
const MicroKernels<std::int64_t>& avx512_i64() {
  using namespace HWY_NAMESPACE;
  return plain_kernels<std::int64_t, 24>(2, &pack_panels<std::int64_t>, &add_sums<std::int64_t>);
}

}  // namespace exactile::cpu
