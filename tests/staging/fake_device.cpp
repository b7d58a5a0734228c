// SPDX-License-Identifier: Apache-2.0
#include "staging/fake_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace exactile::test {

struct FakeDevice::Event final : staging::Event {
  explicit Event(FakeDevice& d) : device(d) {}
  [[nodiscard]] Status wait() override {
    const std::lock_guard lock(device.mutex);
    return device.complete(*this, recorded);
  }
  FakeDevice& device;
  FakeQueue* queue = nullptr;  ///< where it was last recorded
  std::int64_t recorded = 0;
  std::int64_t done = 0;
};

class FakeQueue final : public staging::Queue {
 public:
  explicit FakeQueue(FakeDevice& device) : device_(device) {
    const std::lock_guard lock(device_.mutex);
    device_.queues_.push_back(this);
  }
  ~FakeQueue() override {
    const std::lock_guard lock(device_.mutex);
    std::erase(device_.queues_, this);
  }
  [[nodiscard]] void* handle() override { return this; }
  [[nodiscard]] Status upload(const staging::Copy& copy, const void* from) override {
    return move(copy, static_cast<char*>(copy.device_memory) + copy.device_offset, copy.device_pitch,
                static_cast<const char*>(from), copy.host_pitch, device_.uploaded_bytes);
  }
  [[nodiscard]] Status download(const staging::Copy& copy, void* to) override {
    return move(copy, static_cast<char*>(to), copy.host_pitch,
                static_cast<const char*>(copy.device_memory) + copy.device_offset, copy.device_pitch,
                device_.downloaded_bytes);
  }
  [[nodiscard]] Status record(staging::Event& event) override {
    const std::lock_guard lock(device_.mutex);
    auto& fake = static_cast<FakeDevice::Event&>(event);
    fake.queue = this;
    ++fake.recorded;
    return device_.enqueue(*this, {.run = [] { return Status(); }, .generation = fake.recorded, .records = &fake},
                           false);
  }
  [[nodiscard]] Status wait(staging::Event& event) override {
    const std::lock_guard lock(device_.mutex);
    auto& fake = static_cast<FakeDevice::Event&>(event);
    return device_.enqueue(*this, {.run = nullptr, .waits_for = &fake, .generation = fake.recorded}, false);
  }
  [[nodiscard]] Status finish() override {
    const std::lock_guard lock(device_.mutex);
    return device_.complete(*this);
  }
  [[nodiscard]] Status enqueue(std::function<Status()> work) {
    const std::lock_guard lock(device_.mutex);
    return device_.enqueue(*this, {.run = std::move(work)}, true);
  }

  std::deque<FakeDevice::Op> ops;

 private:
  [[nodiscard]] Status move(const staging::Copy& copy, char* to, std::int64_t to_pitch, const char* from,
                            std::int64_t from_pitch, std::int64_t& counter) {
    const std::lock_guard lock(device_.mutex);
    if (copy.lines > 1 && (to_pitch < copy.line_bytes || from_pitch < copy.line_bytes))
      return {StatusCode::device_failure, "fake copy: pitch below the line's length"};
    counter += copy.lines * copy.line_bytes;
    ++device_.copies;
    return device_.enqueue(*this,
                           {.run =
                                [=] {
                                  for (std::int64_t line = 0; line < copy.lines; ++line)
                                    std::memcpy(to + line * to_pitch, from + line * from_pitch,
                                                static_cast<std::size_t>(copy.line_bytes));
                                  return Status();
                                }},
                           true);
  }

  FakeDevice& device_;
};

FakeDevice::FakeDevice(std::int64_t capacity, Pace pace, std::uint64_t seed)
    : capacity_(capacity), pace_(pace), random_(seed) {}

FakeDevice::~FakeDevice() {
  for (const auto& [memory, bytes] : device_memory_) std::free(memory);
  for (const auto& [memory, bytes] : pinned_memory_) std::free(memory);
}

Result<void*> FakeDevice::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex);
  if (used_ + bytes > capacity_) return Status(StatusCode::out_of_memory, "fake allocation");
  void* memory = std::aligned_alloc(4096, static_cast<std::size_t>((bytes + 4095) / 4096 * 4096));
  std::memset(memory, 0xff, static_cast<std::size_t>(bytes));  // NaN in every floating type
  device_memory_[memory] = bytes;
  used_ += bytes;
  most_used_bytes = std::max(most_used_bytes, used_);
  return memory;
}

void FakeDevice::release(void* memory) noexcept {
  const std::lock_guard lock(mutex);
  const auto found = device_memory_.find(memory);
  used_ -= found->second;
  device_memory_.erase(found);
  std::free(memory);
}

void* FakeDevice::at(void* memory, std::int64_t offset) {
  const std::lock_guard lock(mutex);
  if (offset % 4096 != 0 || offset >= device_memory_.at(memory)) std::abort();
  return static_cast<char*>(memory) + offset;
}

Result<void*> FakeDevice::allocate_pinned(std::int64_t bytes) {
  const std::lock_guard lock(mutex);
  void* memory = std::malloc(static_cast<std::size_t>(bytes));
  std::memset(memory, 0xff, static_cast<std::size_t>(bytes));
  pinned_memory_[memory] = bytes;
  pinned_bytes += bytes;
  return memory;
}

void FakeDevice::release_pinned(void* memory) noexcept {
  const std::lock_guard lock(mutex);
  pinned_bytes -= pinned_memory_[memory];
  pinned_memory_.erase(memory);
  std::free(memory);
}

Result<std::int64_t> FakeDevice::free_bytes() {
  const std::lock_guard lock(mutex);
  return claims_free >= 0 ? claims_free : capacity_ - used_;
}

staging::HostMemory FakeDevice::kind_of(const void* memory, std::int64_t bytes) {
  const auto* first = static_cast<const char*>(memory);
  for (const auto& [place, kind] : kinds)
    if (place >= first && place < first + bytes) return kind;
  return staging::HostMemory::pageable;
}

Result<std::unique_ptr<staging::Queue>> FakeDevice::make_queue() {
  return std::unique_ptr<staging::Queue>(std::make_unique<FakeQueue>(*this));
}

Result<std::unique_ptr<staging::Event>> FakeDevice::make_event() {
  return std::unique_ptr<staging::Event>(std::make_unique<Event>(*this));
}

Status FakeDevice::enqueue(FakeQueue& queue, Op op, bool counts) {
  if (!broken_.ok()) return broken_;
  if (counts && calls_++ == fail_call) return {StatusCode::device_failure, "fake failure"};
  queue.ops.push_back(std::move(op));
  if (pace_ == Pace::dice) roll_dice();
  return broken_;
}

/// Runs the queue's next piece of work, and what it waits for.
Status FakeDevice::step(FakeQueue& queue) {
  const Op op = std::move(queue.ops.front());
  queue.ops.pop_front();
  if (op.waits_for != nullptr) return complete(*op.waits_for, op.generation);
  Status status = op.run();
  if (!status.ok()) broken_ = status;
  if (op.records != nullptr) op.records->done = op.generation;
  return status;
}

Status FakeDevice::complete(Event& event, std::int64_t generation) {
  while (event.done < generation) {
    if (event.queue == nullptr || event.queue->ops.empty())
      return {StatusCode::device_failure, "fake wait: the queue is empty, and the event did not come"};
    if (Status s = step(*event.queue); !s.ok()) return s;
  }
  return {};
}

Status FakeDevice::complete(FakeQueue& queue) {
  while (!queue.ops.empty())
    if (Status s = step(queue); !s.ok()) {
      queue.ops.clear();
      return s;
    }
  return broken_;
}

/// Work that has nothing to wait for, of queues taken at random.
void FakeDevice::roll_dice() {
  for (std::uint64_t rolls = random_() % 4; rolls > 0; --rolls) {
    FakeQueue& queue = *queues_[random_() % queues_.size()];
    if (queue.ops.empty()) continue;
    const Op& next = queue.ops.front();
    if (next.waits_for != nullptr && next.waits_for->done < next.generation) continue;
    static_cast<void>(step(queue));
  }
}

namespace {

class FakeKernel final : public plan::Executable {
 public:
  explicit FakeKernel(const plan::Problem& problem) : description_(problem.description) {}
  [[nodiscard]] Status run(const GemmArguments& arguments, const Execution& execution) const override {
    if (execution.workspace_bytes < workspace_bytes()) return {StatusCode::invalid_argument, "fake workspace missing"};
    return static_cast<FakeQueue*>(execution.queue)->enqueue([d = description_, arguments, execution] {
      std::memset(execution.workspace, 1, 64);
      return gemm(d, arguments, {.kernel = "cpu_naive", .threads = 1});
    });
  }
  [[nodiscard]] std::string blocking() const override { return {}; }
  [[nodiscard]] std::int64_t workspace_bytes() const override { return 64; }
  [[nodiscard]] double model_bytes() const override { return 0; }

 private:
  GemmDescription description_;
};

}  // namespace

std::unique_ptr<plan::Executable> prepare_fake(const plan::Problem& problem) {
  return std::make_unique<FakeKernel>(problem);
}

}  // namespace exactile::test
