// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <utility>

#include "cuda/runtime/clusters.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/shared_memory.hpp"

namespace exactile::cuda {
namespace {

/// Functions and devices for which an attribute has been set. Launches of many threads come by here, and after the
/// first none has to wait for another.
class AttributeOnce {
 public:
  explicit AttributeOnce(cudaFuncAttribute attribute) : attribute_(attribute) {}

  [[nodiscard]] Status set(const void* function, int value, std::string_view kernel) {
    int device = 0;
    if (Status s = check(cudaGetDevice(&device), "cudaGetDevice", kernel); !s.ok()) return s;
    {
      const std::shared_lock lock(mutex_);
      if (set_.contains({function, device})) return {};
    }
    const std::lock_guard lock(mutex_);
    if (Status s = check(cudaFuncSetAttribute(function, attribute_, value), "cudaFuncSetAttribute", kernel); !s.ok())
      return s;
    set_.emplace(function, device);
    return {};
  }

 private:
  cudaFuncAttribute attribute_;
  std::shared_mutex mutex_;
  std::set<std::pair<const void*, int>> set_;
};

__global__ void nothing() {}

/// Whether the device holds a cluster of so many CTAs that have all of an SM's shared memory.
bool has_room(const Device& device, int ctas) {
  const DeviceGuard guard(device.index);
  const auto bytes = static_cast<int>(device.shared_bytes_per_block);
  if (!guard.status().ok() || !allow_shared_memory(nothing, bytes, "").ok() || !allow_clusters(nothing, ctas, "").ok())
    return false;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(ctas), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = static_cast<std::size_t>(bytes);
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  return check(cudaOccupancyMaxActiveClusters(&clusters, nothing, &config), "cudaOccupancyMaxActiveClusters").ok() &&
         clusters > 0;
}

}  // namespace

Status allow_shared_memory(const void* function, int bytes, std::string_view kernel) {
  static auto& once = *new AttributeOnce(cudaFuncAttributeMaxDynamicSharedMemorySize);
  return once.set(function, bytes, kernel);
}

Status allow_clusters(const void* function, int ctas, std::string_view kernel) {
  static auto& once = *new AttributeOnce(cudaFuncAttributeNonPortableClusterSizeAllowed);
  return ctas > most_portable_cluster ? once.set(function, 1, kernel) : Status();
}

int most_cluster(const Device& device) {
  constexpr int of_hopper = 16;
  if (device.compute_capability != 90) return most_portable_cluster;
  static std::mutex mutex;
  static auto& known = *new std::map<int, int>;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(device.index); found != known.end()) return found->second;
  if (!is_ready(device.index)) return of_hopper;
  return known[device.index] = has_room(device, of_hopper) ? of_hopper : most_portable_cluster;
}

}  // namespace exactile::cuda
