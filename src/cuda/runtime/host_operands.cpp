// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/host_operands.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <mutex>

#include "cuda/runtime/device.hpp"
#include "cuda/runtime/workspace.hpp"
#include "staging/device.hpp"

namespace exactile::cuda {
namespace {

std::size_t size(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

class StreamEvent final : public staging::Event {
 public:
  StreamEvent(int device, cudaEvent_t event) : device_(device), event_(event) {}
  ~StreamEvent() override {
    const DeviceGuard guard(device_);
    static_cast<void>(cudaEventDestroy(event_));
  }
  StreamEvent(const StreamEvent&) = delete;
  StreamEvent& operator=(const StreamEvent&) = delete;

  [[nodiscard]] Status wait() override {
    const DeviceGuard guard(device_);
    // Falling asleep and waking up takes longer than what is left of a small copy.
    const auto patience = std::chrono::steady_clock::now() + std::chrono::microseconds(30);
    while (std::chrono::steady_clock::now() < patience) {
      const cudaError_t error = cudaEventQuery(event_);
      if (error != cudaErrorNotReady) return check(error, "cudaEventQuery");
      static_cast<void>(cudaGetLastError());  // "not ready" would be found by the next launch's check
    }
    return check(cudaEventSynchronize(event_), "cudaEventSynchronize");
  }
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  int device_;
  cudaEvent_t event_;
};

class StreamQueue final : public staging::Queue {
 public:
  StreamQueue(int device, cudaStream_t stream) : device_(device), stream_(stream) {}
  ~StreamQueue() override {
    const DeviceGuard guard(device_);
    forget_workspace(device_, stream_);
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  [[nodiscard]] void* handle() override { return stream_; }
  [[nodiscard]] Status upload(const staging::Copy& copy, const void* from) override {
    return move(copy, place(copy), copy.device_pitch, from, copy.host_pitch, cudaMemcpyHostToDevice);
  }
  [[nodiscard]] Status download(const staging::Copy& copy, void* to) override {
    return move(copy, to, copy.host_pitch, place(copy), copy.device_pitch, cudaMemcpyDeviceToHost);
  }
  [[nodiscard]] Status record(staging::Event& event) override {
    const DeviceGuard guard(device_);
    return check(cudaEventRecord(static_cast<StreamEvent&>(event).get(), stream_), "cudaEventRecord");
  }
  [[nodiscard]] Status wait(staging::Event& event) override {
    const DeviceGuard guard(device_);
    return check(cudaStreamWaitEvent(stream_, static_cast<StreamEvent&>(event).get()), "cudaStreamWaitEvent");
  }
  [[nodiscard]] Status finish() override {
    const DeviceGuard guard(device_);
    return check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

 private:
  static char* place(const staging::Copy& copy) { return static_cast<char*>(copy.device_memory) + copy.device_offset; }

  [[nodiscard]] Status move(const staging::Copy& copy, void* to, std::int64_t to_pitch, const void* from,
                            std::int64_t from_pitch, cudaMemcpyKind kind) {
    const DeviceGuard guard(device_);
    const bool is_dense = to_pitch == copy.line_bytes && from_pitch == copy.line_bytes;
    if (copy.lines == 1 || is_dense)
      return check(cudaMemcpyAsync(to, from, size(copy.lines * copy.line_bytes), kind, stream_), "cudaMemcpyAsync");
    return check(cudaMemcpy2DAsync(to, size(to_pitch), from, size(from_pitch), size(copy.line_bytes), size(copy.lines),
                                   kind, stream_),
                 "cudaMemcpy2DAsync");
  }

  int device_;
  cudaStream_t stream_;
};

class StagingDevice final : public staging::Device {
 public:
  explicit StagingDevice(const cuda::Device& device) : device_(device) {}

  [[nodiscard]] Result<void*> allocate(std::int64_t bytes) override {
    const DeviceGuard guard(device_.index);
    void* memory = nullptr;
    if (const cudaError_t error = cudaMalloc(&memory, size(bytes)); error != cudaSuccess)
      return check(error, fmt::format("cudaMalloc of {} bytes", bytes));
    return memory;
  }
  void release(void* memory) noexcept override {
    const DeviceGuard guard(device_.index);
    static_cast<void>(cudaFree(memory));
  }
  [[nodiscard]] void* at(void* memory, std::int64_t offset) override { return static_cast<char*>(memory) + offset; }

  [[nodiscard]] Result<void*> allocate_pinned(std::int64_t bytes) override {
    const DeviceGuard guard(device_.index);
    void* memory = nullptr;
    if (const cudaError_t error = cudaHostAlloc(&memory, size(bytes), cudaHostAllocPortable); error != cudaSuccess)
      return check(error, fmt::format("cudaHostAlloc of {} bytes", bytes));
    return memory;
  }
  void release_pinned(void* memory) noexcept override {
    const DeviceGuard guard(device_.index);
    static_cast<void>(cudaFreeHost(memory));
  }

  [[nodiscard]] Result<std::int64_t> free_bytes() override {
    const DeviceGuard guard(device_.index);
    std::size_t free = 0;
    std::size_t total = 0;
    if (Status s = check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo"); !s.ok()) return s;
    return static_cast<std::int64_t>(free);
  }
  [[nodiscard]] std::int64_t memory_bytes() const override { return device_.memory_bytes; }
  [[nodiscard]] std::int64_t largest_allocation() const override { return device_.memory_bytes; }

  /// Asks for both ends: memory is pinned by whole allocations.
  [[nodiscard]] staging::HostMemory kind_of(const void* memory, std::int64_t bytes) override {
    const staging::HostMemory first = kind_at(memory);
    return first == kind_at(static_cast<const char*>(memory) + bytes - 1) ? first : staging::HostMemory::pageable;
  }

  [[nodiscard]] Result<std::unique_ptr<staging::Queue>> make_queue() override {
    const DeviceGuard guard(device_.index);
    cudaStream_t stream = nullptr;
    if (Status s = check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        !s.ok())
      return s;
    return std::unique_ptr<staging::Queue>(std::make_unique<StreamQueue>(device_.index, stream));
  }
  [[nodiscard]] Result<std::unique_ptr<staging::Event>> make_event() override {
    const DeviceGuard guard(device_.index);
    cudaEvent_t event = nullptr;
    if (Status s = check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
                         "cudaEventCreateWithFlags");
        !s.ok())
      return s;
    return std::unique_ptr<staging::Event>(std::make_unique<StreamEvent>(device_.index, event));
  }

 private:
  [[nodiscard]] staging::HostMemory kind_at(const void* memory) const {
    const DeviceGuard guard(device_.index);
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      return staging::HostMemory::pageable;
    }
    switch (attributes.type) {
      case cudaMemoryTypeHost: return staging::HostMemory::pinned;
      case cudaMemoryTypeDevice: return staging::HostMemory::not_host;
      default: return staging::HostMemory::pageable;  // managed memory too: the host can read and write it
    }
  }

  const cuda::Device& device_;
};

}  // namespace

staging::Stager& stager_of(const Device& device) {
  // Never destroyed: what it holds belongs to a driver that may be gone when static objects are.
  static std::mutex mutex;
  static auto& stagers = *new std::map<int, staging::Stager*>;
  const std::lock_guard lock(mutex);
  staging::Stager*& stager = stagers[device.index];
  if (stager == nullptr) stager = new staging::Stager(*new StagingDevice(device));
  return *stager;
}

bool is_pinned(const void* memory, std::int64_t bytes, int device) {
  staging::Stager& stager = stager_of(devices()[static_cast<std::size_t>(device)]);
  return stager.device().kind_of(memory, bytes) == staging::HostMemory::pinned;
}

}  // namespace exactile::cuda
