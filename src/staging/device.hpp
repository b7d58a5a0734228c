// SPDX-License-Identifier: Apache-2.0
/// \file
/// What staging asks of a device that has memory of its own; each GPU backend implements it in its runtime.
/// All of it may be used from several threads at once, except that one Queue or Event is used by one thread at a time.
/// A failing call answers with a Status that names it.
#pragma once

#include <cstdint>
#include <memory>

#include "exactile/status.hpp"

namespace exactile::staging {

/// What kind of memory a host pointer points to.
enum class HostMemory : std::uint8_t {
  pageable,
  pinned,    ///< the device copies from and to it by itself
  not_host,  ///< device memory: a caller's mistake
};

/// A copy of `lines` pieces of `line_bytes` each, from or to `device_memory` + `device_offset`. Where the pitches equal
/// line_bytes, or lines is 1, it is one piece. Pitches are at least line_bytes.
struct Copy {
  void* device_memory = nullptr;  ///< what Device::allocate() answered
  std::int64_t device_offset = 0;
  std::int64_t device_pitch = 0;
  std::int64_t host_pitch = 0;
  std::int64_t line_bytes = 0;
  std::int64_t lines = 1;

  /// A single piece.
  [[nodiscard]] static Copy contiguous(void* memory, std::int64_t offset, std::int64_t bytes) {
    return {.device_memory = memory,
            .device_offset = offset,
            .device_pitch = bytes,
            .host_pitch = bytes,
            .line_bytes = bytes};
  }
};

/// A point in a queue's work.
class Event {
 public:
  virtual ~Event() = default;
  /// Blocks the host, asleep, until what was enqueued before the last Queue::record() is done.
  [[nodiscard]] virtual Status wait() = 0;
};

/// Work is done in the order in which it was enqueued; different queues run side by side.
class Queue {
 public:
  virtual ~Queue() = default;
  [[nodiscard]] virtual void* handle() = 0;  ///< what Execution::queue takes
  /// Both only enqueue; the host memory is pinned.
  [[nodiscard]] virtual Status upload(const Copy& copy, const void* from) = 0;
  [[nodiscard]] virtual Status download(const Copy& copy, void* to) = 0;
  [[nodiscard]] virtual Status record(Event& event) = 0;
  /// What is enqueued from here on starts after the event as it was last recorded.
  [[nodiscard]] virtual Status wait(Event& event) = 0;
  /// Blocks the host until all work is done; short waits do not sleep.
  [[nodiscard]] virtual Status finish() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  /// Device memory, at least one byte, aligned to 256. Out of memory is StatusCode::out_of_memory.
  [[nodiscard]] virtual Result<void*> allocate(std::int64_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// What GemmArguments takes for the byte at `offset`, a multiple of 4096; valid as long as the memory is.
  [[nodiscard]] virtual void* at(void* memory, std::int64_t offset) = 0;
  [[nodiscard]] virtual Result<void*> allocate_pinned(std::int64_t bytes) = 0;
  virtual void release_pinned(void* memory) noexcept = 0;

  [[nodiscard]] virtual Result<std::int64_t> free_bytes() = 0;
  [[nodiscard]] virtual std::int64_t memory_bytes() const = 0;
  [[nodiscard]] virtual std::int64_t largest_allocation() const = 0;
  /// Of a whole range; `bytes` is positive.
  [[nodiscard]] virtual HostMemory kind_of(const void* memory, std::int64_t bytes) = 0;

  [[nodiscard]] virtual Result<std::unique_ptr<Queue>> make_queue() = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Event>> make_event() = 0;
};

}  // namespace exactile::staging
