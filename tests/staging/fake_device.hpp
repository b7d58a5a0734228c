// SPDX-License-Identifier: Apache-2.0
/// \file
/// A device that is host memory, for staging's tests. Its queues put work off: nothing runs before somebody waits for
/// it, or only as the dice say. A copy or a kernel that should have waited for another one then meets memory that is
/// not ready, or a ring that was filled anew, and the result is wrong.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string_view>
#include <vector>

#include "exactile/plan.hpp"
#include "plan/kernel_entry.hpp"
#include "staging/device.hpp"

namespace exactile::test {

enum class Pace : std::uint8_t {
  lazy,  ///< nothing runs that nobody waits for
  dice,  ///< after every call some work of some queues runs
};

class FakeQueue;

class FakeDevice final : public staging::Device {
 public:
  FakeDevice(std::int64_t capacity, Pace pace, std::uint64_t seed);
  ~FakeDevice() override;

  [[nodiscard]] Result<void*> allocate(std::int64_t bytes) override;
  void release(void* memory) noexcept override;
  [[nodiscard]] void* at(void* memory, std::int64_t offset) override;
  [[nodiscard]] Result<void*> allocate_pinned(std::int64_t bytes) override;
  void release_pinned(void* memory) noexcept override;
  [[nodiscard]] Result<std::int64_t> free_bytes() override;
  [[nodiscard]] std::int64_t memory_bytes() const override { return capacity_; }
  [[nodiscard]] std::int64_t largest_allocation() const override { return largest; }
  [[nodiscard]] staging::HostMemory kind_of(const void* memory, std::int64_t bytes) override;
  [[nodiscard]] Result<std::unique_ptr<staging::Queue>> make_queue() override;
  [[nodiscard]] Result<std::unique_ptr<staging::Event>> make_event() override;

  // What a test sets before it runs, and reads afterwards.
  std::int64_t largest = std::int64_t{1} << 40;
  std::int64_t claims_free = -1;                                   ///< what free_bytes() answers; -1: the truth
  std::vector<std::pair<const void*, staging::HostMemory>> kinds;  ///< by first byte of the operand's memory
  int fail_call = -1;                                              ///< the so-manieth enqueued copy or kernel fails
  std::int64_t uploaded_bytes = 0;
  std::int64_t downloaded_bytes = 0;
  std::int64_t copies = 0;
  std::int64_t pinned_bytes = 0;
  std::int64_t most_used_bytes = 0;

  // For queues and events.
  struct Event;
  struct Op {
    std::function<Status()> run;  ///< null for a wait
    Event* waits_for = nullptr;
    std::int64_t generation = 0;  ///< of waits_for, or of `records`
    Event* records = nullptr;
  };
  [[nodiscard]] Status enqueue(FakeQueue& queue, Op op, bool counts);
  [[nodiscard]] Status complete(Event& event, std::int64_t generation);
  [[nodiscard]] Status complete(FakeQueue& queue);
  std::recursive_mutex mutex;

 private:
  friend class FakeQueue;
  [[nodiscard]] Status step(FakeQueue& queue);
  void roll_dice();

  std::int64_t capacity_;
  Pace pace_;
  std::mt19937_64 random_;
  std::map<void*, std::int64_t> device_memory_;
  std::map<void*, std::int64_t> pinned_memory_;
  std::int64_t used_ = 0;
  int calls_ = 0;
  Status broken_;
  std::vector<FakeQueue*> queues_;
};

/// `cpu_naive` on the fake device's memory, put off as everything else: what staging gets as a kernel.
[[nodiscard]] std::unique_ptr<plan::Executable> prepare_fake(const plan::Problem& problem);

}  // namespace exactile::test
