// SPDX-License-Identifier: Apache-2.0
#include "cpu/caches.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

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

const std::string& processor_name() {
  static const auto& name = *new std::string([] {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("model name")) return line.substr(std::min(line.find(": ") + 2, line.size()));
    return std::string("processor");
  }());
  return name;
}

}  // namespace exactile::cpu
