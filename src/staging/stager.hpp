// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a device keeps ready between runs: queues, events, pinned rings and some device memory. One per device, for the
/// life of the process; runs from several threads each take what they need and give it back.
#pragma once

#include <array>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "staging/device.hpp"
#include "staging/schedule.hpp"

namespace exactile::staging {

/// Device or pinned memory that goes back where it came from.
class Buffer {
 public:
  Buffer() = default;
  Buffer(void* data, std::int64_t bytes, std::function<void(void*, std::int64_t)> give_back)
      : data_(data), bytes_(bytes), give_back_(std::move(give_back)) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) give_back_(data_, bytes_);
  }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    give_back_.swap(other.give_back_);
  }
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::function<void(void*, std::int64_t)> give_back_;
};

/// The queues and events of one run.
struct Lane {
  std::unique_ptr<Queue> upload;
  std::unique_ptr<Queue> download;
  std::array<std::unique_ptr<Queue>, compute_queues> compute;
  std::vector<std::unique_ptr<Event>> events;  ///< spare; see Stager::more_events()
  Buffer small;                                ///< pinned, for products that travel in one piece
};

/// Pinned memory through which pageable operands travel, one ring a direction.
struct Rings {
  Buffer up;
  Buffer down;
};

/// What EXACTILE_DEVICE_MEMORY says of each device, else no limit.
[[nodiscard]] std::int64_t most_device_memory() noexcept;

class Stager {
 public:
  /// `limit` bytes of device memory are the most that all runs together take.
  explicit Stager(Device& device, std::int64_t limit = most_device_memory());
  Stager(const Stager&) = delete;
  Stager& operator=(const Stager&) = delete;

  [[nodiscard]] Device& device() { return device_; }

  using LaneLease = std::unique_ptr<Lane, std::function<void(Lane*)>>;
  [[nodiscard]] Result<LaneLease> lane();

  /// At least those bytes each. At most two pairs are out at a time, which bounds pinned memory; a third run waits.
  using RingsLease = std::unique_ptr<Rings, std::function<void(Rings*)>>;
  [[nodiscard]] Result<RingsLease> rings(std::int64_t up_bytes, std::int64_t down_bytes);

  /// Device memory. What is given back is kept for the next run, up to a fraction of the device's memory.
  [[nodiscard]] Result<Buffer> memory(std::int64_t bytes);
  /// What a run may take: free memory and what is kept here, less some that others may need.
  [[nodiscard]] Result<std::int64_t> budget();

  [[nodiscard]] Result<Buffer> pinned(std::int64_t bytes);
  [[nodiscard]] Status more_events(Lane& lane, std::size_t count);

 private:
  struct Kept {
    void* data;
    std::int64_t bytes;
  };
  [[nodiscard]] void* take_kept(std::int64_t& bytes);
  void keep(void* data, std::int64_t bytes);
  void release_kept();
  /// Of device memory that no limit forbids.
  [[nodiscard]] Result<void*> allocate(std::int64_t bytes);
  void release(void* data, std::int64_t bytes);

  Device& device_;
  std::mutex mutex_;
  std::condition_variable rings_returned_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<Rings>> rings_;
  int rings_out_ = 0;
  std::vector<Kept> kept_;
  std::int64_t kept_bytes_ = 0;
  std::int64_t taken_bytes_ = 0;  ///< of the device's memory, what is kept included
  std::int64_t limit_;
};

}  // namespace exactile::staging
