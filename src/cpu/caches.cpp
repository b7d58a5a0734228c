// SPDX-License-Identifier: Apache-2.0
#include "cpu/caches.hpp"

#include <unistd.h>

namespace exactile::cpu {

const Caches& caches() {
  static const Caches found = [] {
    Caches result;
    const auto take = [](int name, std::int64_t& bytes) {
      if (const long value = sysconf(name); value > 0) bytes = value;
    };
    take(_SC_LEVEL1_DCACHE_SIZE, result.l1);
    take(_SC_LEVEL2_CACHE_SIZE, result.l2);
    take(_SC_LEVEL3_CACHE_SIZE, result.l3);
    return result;
  }();
  return found;
}

}  // namespace exactile::cpu
