// SPDX-License-Identifier: Apache-2.0
/// \file
/// A device with memory of its own, without a word of its vendor's API: a queue of work, memory, copies, a clock.
///
///     auto context = exactile::Context::make(exactile::Backend::cuda);              // the backend's device 0
///     auto a = context.value().allocate(m * k * sizeof(float));    // device memory
///     a.value().upload(host_a, m * k * sizeof(float));
///     auto plan = exactile::Plan::make(description, {.backend = exactile::Backend::cuda, .memory =
///     exactile::Memory::device}); plan.value().run({a.value().at(), b.value().at(), c.value().at()},
///     context.value().execution());
///
/// Who has streams, queues and pointers already needs none of this: see interop/cuda.hpp and interop/opencl.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "exactile/plan.hpp"
#include "exactile/status.hpp"

namespace exactile {

namespace detail {
class ContextState;
}

/// A stretch of device memory (CUDA's is aligned to 256 bytes); freed when it goes, after the work enqueued on its
/// context, which it keeps alive. Movable; a moved-from object may only be assigned to or destroyed. Several threads
/// may use one at once, on parts that do not overlap.
class DeviceMemory {
 public:
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// What GemmArguments takes for the element that begins at byte `offset`, 0 to bytes(), which is not checked; valid
  /// as long as this object.
  [[nodiscard]] void* at(std::int64_t offset = 0) const;
  /// Copy from and to host memory; they return when the copy is done, after the work enqueued before, whose errors may
  /// surface here. Fail with invalid_argument where the copy would leave the memory or the host's pointer is null.
  [[nodiscard]] Status upload(const void* from, std::int64_t bytes, std::int64_t offset = 0);
  [[nodiscard]] Status download(void* to, std::int64_t bytes, std::int64_t offset = 0) const;
  /// Sets every byte, in order with the other work; returns at once. 0xff makes NaN of every floating type.
  [[nodiscard]] Status fill_bytes(int value);

 private:
  friend class Context;
  DeviceMemory(std::shared_ptr<detail::ContextState> state, void* memory, std::int64_t bytes)
      : state_(std::move(state)), memory_(memory), bytes_(bytes) {}
  std::shared_ptr<detail::ContextState> state_;
  void* memory_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// A matrix's memory whose rows begin at aligned addresses, whatever the number of columns.
struct PitchedMemory {
  DeviceMemory memory;
  std::int64_t row_stride = 0;  ///< in elements
};

/// Cheap to copy; safe to use from many threads. Work enqueued on one context runs in order.
class Context {
 public:
  /// A queue of its own on the backend's device number `device`, as devices() counts them. Fails with
  /// device_unavailable (and the reason), with that or invalid_argument for a device that is not there, or with
  /// unsupported for a backend that computes in host memory; Backend::automatic names none (invalid_argument).
  [[nodiscard]] static Result<Context> make(Backend backend, int device = 0);

  /// `bytes` of 0 or more; fails with out_of_memory, which says how many were asked for.
  [[nodiscard]] Result<DeviceMemory> allocate(std::int64_t bytes) const;
  /// rows x columns elements; every row begins at a multiple of 512 bytes. Fails as allocate() does.
  [[nodiscard]] Result<PitchedMemory> allocate_pitched(std::int64_t rows, std::int64_t columns, ElementType type) const;
  /// What Plan::run() takes to enqueue on this context's queue; valid as long as a copy of the context, or memory of
  /// it.
  [[nodiscard]] Execution execution() const;
  /// Waits for the work enqueued so far; errors of the device surface here.
  [[nodiscard]] Status synchronize() const;
  /// Seconds, by the device's clock, that the work enqueued by `enqueue` takes; waits for it. Fails as `enqueue` does.
  [[nodiscard]] Result<double> time(const std::function<Status()>& enqueue) const;

  [[nodiscard]] Backend backend() const noexcept;
  [[nodiscard]] int device() const noexcept;

 private:
  explicit Context(std::shared_ptr<detail::ContextState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::ContextState> state_;
};

}  // namespace exactile
