// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/workspace.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

namespace exactile::cuda {
namespace {

/// The library's own pool on a device. It keeps what it once had, so that only the first run pays for memory; the
/// driver takes it back when the process ends.
Result<cudaMemPool_t> pool_of(const Device& device) {
  static std::mutex mutex;
  static auto& pools = *new std::map<int, cudaMemPool_t>;
  const std::lock_guard lock(mutex);
  if (const auto found = pools.find(device.index); found != pools.end()) return found->second;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device.index;
  cudaMemPool_t pool = nullptr;
  if (Status s = check(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate"); !s.ok()) return s;
  std::uint64_t keep = UINT64_MAX;
  if (Status s =
          check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "cudaMemPoolSetAttribute");
      !s.ok())
    return s;
  pools.emplace(device.index, pool);
  return pool;
}

}  // namespace

Result<Workspace> Workspace::take(const Device& device, const Execution& execution, std::int64_t bytes,
                                  std::string_view kernel) {
  const auto stream = static_cast<cudaStream_t>(execution.queue);
  if (bytes == 0) return Workspace(nullptr, stream, false);
  if (execution.workspace != nullptr) {
    if (execution.workspace_bytes < bytes || reinterpret_cast<std::uintptr_t>(execution.workspace) % 256 != 0)
      return Status(StatusCode::invalid_argument,
                    fmt::format("workspace of {} bytes at {}: expected {} bytes at a multiple of 256 for kernel '{}'",
                                execution.workspace_bytes, execution.workspace, bytes, kernel));
    return Workspace(execution.workspace, stream, false);
  }
  Result<cudaMemPool_t> pool = pool_of(device);
  if (!pool.ok()) return pool.status();
  void* data = nullptr;
  const cudaError_t error = cudaMallocFromPoolAsync(&data, static_cast<std::size_t>(bytes), pool.value(), stream);
  if (error != cudaSuccess) return check(error, fmt::format("cudaMallocFromPoolAsync of {} bytes", bytes), kernel);
  return Workspace(data, stream, true);
}

Workspace::Workspace(Workspace&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      stream_(other.stream_),
      is_pooled_(std::exchange(other.is_pooled_, false)) {}

Workspace::~Workspace() {
  // An error here is the stream's, and shows in its next call.
  if (is_pooled_) static_cast<void>(cudaFreeAsync(data_, stream_));
}

}  // namespace exactile::cuda
