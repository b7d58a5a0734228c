// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/shared_memory.hpp"

#include <mutex>
#include <set>
#include <shared_mutex>
#include <utility>

namespace exactile::cuda {

Status allow_shared_memory(const void* function, int bytes, std::string_view kernel) {
  int device = 0;
  if (Status s = check(cudaGetDevice(&device), "cudaGetDevice", kernel); !s.ok()) return s;
  // Launches of many threads come by here, and after the first none has to wait for another.
  static auto& mutex = *new std::shared_mutex;
  static auto& allowed = *new std::set<std::pair<const void*, int>>;
  {
    const std::shared_lock lock(mutex);
    if (allowed.contains({function, device})) return {};
  }
  const std::lock_guard lock(mutex);
  if (Status s = check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                       "cudaFuncSetAttribute", kernel);
      !s.ok())
    return s;
  allowed.emplace(function, device);
  return {};
}

}  // namespace exactile::cuda
