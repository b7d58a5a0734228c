// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/context.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/runtime/device.hpp"
#include "cuda/runtime/workspace.hpp"

namespace exactile::cuda {
namespace {

class Event {
 public:
  Event() : status_(check(cudaEventCreate(&event_), "cudaEventCreate")) {}
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  [[nodiscard]] Status record(cudaStream_t stream) {
    return status_.ok() ? check(cudaEventRecord(event_, stream), "cudaEventRecord") : status_;
  }
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
  Status status_;
};

class StreamContext final : public plan::DeviceContext {
 public:
  StreamContext(int device, cudaStream_t stream) : device_(device), stream_(stream) {}
  ~StreamContext() override {
    const DeviceGuard guard(device_);
    forget_workspace(device_, stream_);
    static_cast<void>(cudaStreamDestroy(stream_));
  }

  [[nodiscard]] Result<void*> allocate(std::int64_t bytes) override {
    const DeviceGuard guard(device_);
    if (!guard.status().ok()) return guard.status();
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
    if (error != cudaSuccess) return check(error, fmt::format("cudaMalloc of {} bytes", bytes));
    return memory;
  }
  void release(void* memory) noexcept override {
    const DeviceGuard guard(device_);
    static_cast<void>(cudaFree(memory));
  }
  [[nodiscard]] void* at(void* memory, std::int64_t offset) override { return static_cast<char*>(memory) + offset; }

  [[nodiscard]] Status upload(void* memory, std::int64_t offset, const void* from, std::int64_t bytes) override {
    return copy(at(memory, offset), from, bytes, cudaMemcpyHostToDevice);
  }
  [[nodiscard]] Status download(void* to, void* memory, std::int64_t offset, std::int64_t bytes) override {
    return copy(to, at(memory, offset), bytes, cudaMemcpyDeviceToHost);
  }
  [[nodiscard]] Status fill_bytes(void* memory, std::int64_t offset, int value, std::int64_t bytes) override {
    const DeviceGuard guard(device_);
    return check(cudaMemsetAsync(at(memory, offset), value, static_cast<std::size_t>(bytes), stream_),
                 "cudaMemsetAsync");
  }
  [[nodiscard]] Status synchronize() override {
    const DeviceGuard guard(device_);
    return check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }
  [[nodiscard]] Execution execution() override { return {.queue = stream_}; }

  [[nodiscard]] Result<double> time(const std::function<Status()>& enqueue) override {
    const DeviceGuard guard(device_);
    Event begin;
    Event end;
    if (Status s = begin.record(stream_); !s.ok()) return s;
    if (Status s = enqueue(); !s.ok()) return s;
    if (Status s = end.record(stream_); !s.ok()) return s;
    if (Status s = check(cudaEventSynchronize(end.get()), "cudaEventSynchronize"); !s.ok()) return s;
    float milliseconds = 0;
    if (Status s = check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime"); !s.ok())
      return s;
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  [[nodiscard]] Status copy(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind) {
    const DeviceGuard guard(device_);
    if (Status s = check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream_), "cudaMemcpyAsync");
        !s.ok())
      return s;
    return synchronize();
  }

  int device_;
  cudaStream_t stream_;
};

}  // namespace

Result<std::unique_ptr<plan::DeviceContext>> open_context(int device) {
  if (devices().empty()) return Status(StatusCode::device_unavailable, std::string(why_no_device()));
  if (device < 0 || device >= static_cast<int>(devices().size()))
    return Status(StatusCode::invalid_argument,
                  fmt::format("device = {}: expected 0 to {}", device, devices().size() - 1));
  const Device& facts = devices()[static_cast<std::size_t>(device)];
  if (const std::string reason = why_too_old(facts.compute_capability, least_capability_built()); !reason.empty())
    return Status(StatusCode::device_unavailable, reason);
  const DeviceGuard guard(facts.index);
  if (!guard.status().ok()) return guard.status();
  cudaStream_t stream = nullptr;
  if (Status s = check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"); !s.ok())
    return s;
  return std::unique_ptr<plan::DeviceContext>(std::make_unique<StreamContext>(facts.index, stream));
}

}  // namespace exactile::cuda
