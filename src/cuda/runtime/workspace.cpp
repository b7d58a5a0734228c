// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/workspace.hpp"

#include <fmt/format.h>

#include <bit>
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

Result<void*> take_from_pool(const Device& device, cudaStream_t stream, std::int64_t bytes, std::string_view kernel) {
  Result<cudaMemPool_t> pool = pool_of(device);
  if (!pool.ok()) return pool.status();
  void* data = nullptr;
  const cudaError_t error = cudaMallocFromPoolAsync(&data, static_cast<std::size_t>(bytes), pool.value(), stream);
  if (error != cudaSuccess) return check(error, fmt::format("cudaMallocFromPoolAsync of {} bytes", bytes), kernel);
  return data;
}

constexpr std::int64_t most_kept_bytes = std::int64_t{64} << 20;  ///< by a stream
constexpr std::size_t most_streams = 32;                          ///< keep some: nobody says which of them are gone

/// What a stream keeps. Only one thread at a time enqueues with it: launches of two runs could come in turn.
struct Kept {
  void* data = nullptr;
  std::int64_t bytes = 0;
  std::atomic_flag in_use;
};

using StreamKey = std::pair<int, unsigned long long>;  ///< of a device and a stream; no id comes twice, a handle may

struct AllKept {
  std::mutex mutex;
  std::map<StreamKey, Kept> streams;
};
AllKept& all_kept() {
  static auto& all = *new AllKept;
  return all;
}

/// Null where there is none: a graph that is captured may run beside the stream, and another thread may be enqueuing.
/// Marked as in use.
Kept* kept_by(const Device& device, cudaStream_t stream) {
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  if (cudaStreamIsCapturing(stream, &capturing) != cudaSuccess || capturing != cudaStreamCaptureStatusNone ||
      cudaStreamGetId(stream, &id) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // the pool's call says it
    return nullptr;
  }
  AllKept& all = all_kept();
  const std::lock_guard lock(all.mutex);
  const StreamKey key(device.index, id);
  if (all.streams.size() >= most_streams && !all.streams.contains(key)) return nullptr;
  Kept& kept = all.streams[key];
  return kept.in_use.test_and_set(std::memory_order_acquire) ? nullptr : &kept;
}

/// Room for so many bytes in what the stream keeps.
Status grow(Kept& kept, std::int64_t bytes, const Device& device, cudaStream_t stream, std::string_view kernel) {
  if (kept.bytes >= bytes) return {};
  const auto rounded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
  if (kept.data != nullptr) static_cast<void>(cudaFreeAsync(std::exchange(kept.data, nullptr), stream));
  kept.bytes = 0;
  std::int64_t taken = rounded;
  Result<void*> data = take_from_pool(device, stream, taken, kernel);
  if (!data.ok()) data = take_from_pool(device, stream, taken = bytes, kernel);  // so much more is not free
  if (!data.ok()) return data.status();
  kept.data = data.value();
  kept.bytes = taken;
  return {};
}

}  // namespace

Result<Workspace> Workspace::take(const Device& device, const Execution& execution, std::int64_t bytes,
                                  std::string_view kernel) {
  const auto stream = static_cast<cudaStream_t>(execution.queue);
  if (bytes == 0) return Workspace(nullptr);
  if (execution.workspace != nullptr) {
    if (execution.workspace_bytes < bytes || reinterpret_cast<std::uintptr_t>(execution.workspace) % 256 != 0)
      return Status(StatusCode::invalid_argument,
                    fmt::format("workspace of {} bytes at {}: expected {} bytes at a multiple of 256 for kernel '{}'",
                                execution.workspace_bytes, execution.workspace, bytes, kernel));
    return Workspace(execution.workspace);
  }
  if (Kept* const kept = bytes <= most_kept_bytes ? kept_by(device, stream) : nullptr; kept != nullptr) {
    Workspace workspace(nullptr);
    workspace.in_use_ = &kept->in_use;
    if (Status s = grow(*kept, bytes, device, stream, kernel); !s.ok()) return s;
    workspace.data_ = kept->data;
    return workspace;
  }
  const Result<void*> data = take_from_pool(device, stream, bytes, kernel);
  if (!data.ok()) return data.status();
  Workspace workspace(data.value());
  workspace.stream_ = stream;
  workspace.is_pooled_ = true;
  return workspace;
}

void forget_workspace(int device, cudaStream_t stream) {
  unsigned long long id = 0;
  if (cudaStreamGetId(stream, &id) != cudaSuccess) return;
  AllKept& all = all_kept();
  const std::lock_guard lock(all.mutex);
  const auto kept = all.streams.find({device, id});
  if (kept == all.streams.end()) return;
  if (kept->second.data != nullptr) static_cast<void>(cudaFreeAsync(kept->second.data, stream));
  all.streams.erase(kept);
}

Workspace::Workspace(Workspace&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      stream_(other.stream_),
      is_pooled_(std::exchange(other.is_pooled_, false)),
      in_use_(std::exchange(other.in_use_, nullptr)) {}

Workspace::~Workspace() {
  // An error here is the stream's, and shows in its next call.
  if (is_pooled_) static_cast<void>(cudaFreeAsync(data_, stream_));
  if (in_use_ != nullptr) in_use_->clear(std::memory_order_release);
}

}  // namespace exactile::cuda
