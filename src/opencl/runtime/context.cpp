// SPDX-License-Identifier: Apache-2.0
#include "opencl/runtime/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "opencl/runtime/runtime.hpp"

namespace exactile::opencl {
namespace {

/// A buffer, and the spans that say where in it operands begin; they live as long as the buffer.
struct Allocation {
  cl_mem memory = nullptr;
  std::mutex mutex;
  std::map<std::int64_t, BufferSpan> spans;
};

class QueueContext final : public plan::DeviceContext {
 public:
  QueueContext(Runtime& runtime, Loan<Runtime, cl_command_queue> queue)
      : runtime_(runtime), lent_(std::move(queue)), queue_(lent_.get()) {}
  QueueContext(const QueueContext&) = delete;
  QueueContext& operator=(const QueueContext&) = delete;
  /// The queue goes back, so it must be empty.
  ~QueueContext() override { static_cast<void>(synchronize()); }

  [[nodiscard]] Result<void*> allocate(std::int64_t bytes) override {
    Result<cl_mem> memory =
        runtime_.make_buffer(std::max<std::int64_t>(bytes, 1), CL_MEM_READ_WRITE, nullptr, "device memory");
    if (!memory.ok()) return memory.status();
    auto made = std::make_unique<Allocation>();
    made->memory = memory.value();
    return static_cast<void*>(made.release());
  }
  void release(void* memory) noexcept override {
    const std::unique_ptr<Allocation> owned(static_cast<Allocation*>(memory));
    api()->clReleaseMemObject(owned->memory);  // the driver waits for the work that uses it
  }
  [[nodiscard]] void* at(void* memory, std::int64_t offset) override {
    auto& allocation = *static_cast<Allocation*>(memory);
    const std::lock_guard lock(allocation.mutex);
    return &allocation.spans.try_emplace(offset, BufferSpan{allocation.memory, offset}).first->second;
  }

  [[nodiscard]] Status upload(void* memory, std::int64_t offset, const void* from, std::int64_t bytes) override {
    return check(api()->clEnqueueWriteBuffer(queue_, static_cast<Allocation*>(memory)->memory, CL_TRUE,
                                             static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes), from, 0,
                                             nullptr, nullptr),
                 "clEnqueueWriteBuffer");
  }
  [[nodiscard]] Status download(void* to, void* memory, std::int64_t offset, std::int64_t bytes) override {
    return check(api()->clEnqueueReadBuffer(queue_, static_cast<Allocation*>(memory)->memory, CL_TRUE,
                                            static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes), to, 0,
                                            nullptr, nullptr),
                 "clEnqueueReadBuffer");
  }
  [[nodiscard]] Status fill_bytes(void* memory, std::int64_t offset, int value, std::int64_t bytes) override {
    const auto byte = static_cast<unsigned char>(value);
    return check(api()->clEnqueueFillBuffer(queue_, static_cast<Allocation*>(memory)->memory, &byte, 1,
                                            static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes), 0,
                                            nullptr, nullptr),
                 "clEnqueueFillBuffer");
  }
  [[nodiscard]] Status synchronize() override {
    Status s = check(api()->clFinish(queue_), "clFinish");
    runtime_.finished(queue_);
    return s;
  }
  [[nodiscard]] Execution execution() override { return {.queue = queue_}; }

  /// Between the ends of two markers, by the device's clock; a driver that has none for markers is timed from outside.
  [[nodiscard]] Result<double> time(const std::function<Status()>& enqueue) override {
    if (Status s = synchronize(); !s.ok()) return s;
    const auto begin = std::chrono::steady_clock::now();
    cl_event events[2] = {};
    if (Status s = mark(events[0]); !s.ok()) return s;
    const Status enqueued = enqueue();
    const Status marked = mark(events[1]);
    const Status done = synchronize();
    const double outside = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double inside = (end_of(events[1]) - end_of(events[0])) * 1e-9;
    for (cl_event event : events)
      if (event != nullptr) api()->clReleaseEvent(event);
    for (const Status& s : {enqueued, marked, done})
      if (!s.ok()) return s;
    return inside > 0 && inside <= outside ? inside : outside;
  }

 private:
  [[nodiscard]] Status mark(cl_event& event) {
    return check(api()->clEnqueueMarkerWithWaitList(queue_, 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  }
  /// In nanoseconds; 0 where the driver does not tell.
  static double end_of(cl_event event) {
    cl_ulong nanoseconds = 0;
    if (event == nullptr || api()->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof nanoseconds,
                                                           &nanoseconds, nullptr) != CL_SUCCESS)
      return 0;
    return static_cast<double>(nanoseconds);
  }

  Runtime& runtime_;
  Loan<Runtime, cl_command_queue> lent_;
  cl_command_queue queue_;
};

}  // namespace

Result<std::unique_ptr<plan::DeviceContext>> open_context(int device) {
  Result<Runtime*> runtime = Runtime::of(device);
  if (!runtime.ok()) return runtime.status();
  Result<Loan<Runtime, cl_command_queue>> queue = runtime.value()->queue();
  if (!queue.ok()) return queue.status();
  return std::unique_ptr<plan::DeviceContext>(
      std::make_unique<QueueContext>(*runtime.value(), std::move(queue).value()));
}

}  // namespace exactile::opencl
