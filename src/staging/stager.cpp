// SPDX-License-Identifier: Apache-2.0
#include "staging/stager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/checked.hpp"
#include "core/environment.hpp"

namespace exactile::staging {
namespace {

constexpr int most_rings_out = 2;
constexpr std::int64_t kept_fraction = 32;  // of the device's memory

constexpr std::size_t most_kept = 64;  // lanes, blocks

}  // namespace

std::int64_t most_device_memory() noexcept {
  return core::environment_bytes("EXACTILE_DEVICE_MEMORY").value_or(std::numeric_limits<std::int64_t>::max());
}

// What is given back must not meet an allocation that fails.
Stager::Stager(Device& device, std::int64_t limit) : device_(device), limit_(limit) {
  lanes_.reserve(most_kept);
  kept_.reserve(most_kept);
  rings_.reserve(most_rings_out);
}

Result<Stager::LaneLease> Stager::lane() {
  const auto give_back = [this](Lane* lane) {
    std::unique_ptr<Lane> owned(lane);
    const std::lock_guard lock(mutex_);
    if (lanes_.size() < most_kept) lanes_.push_back(std::move(owned));
  };
  {
    const std::lock_guard lock(mutex_);
    if (!lanes_.empty()) {
      LaneLease lease(lanes_.back().release(), give_back);
      lanes_.pop_back();
      return lease;
    }
  }
  auto made = std::make_unique<Lane>();
  const auto make = [this](std::unique_ptr<Queue>& queue) -> Status {
    auto result = device_.make_queue();
    if (!result.ok()) return result.status();
    queue = std::move(result).value();
    return {};
  };
  if (Status s = make(made->upload); !s.ok()) return s;
  if (Status s = make(made->download); !s.ok()) return s;
  for (auto& queue : made->compute)
    if (Status s = make(queue); !s.ok()) return s;
  return LaneLease(made.release(), give_back);
}

Result<Stager::RingsLease> Stager::rings(std::int64_t up_bytes, std::int64_t down_bytes) {
  const auto give_back = [this](Rings* rings) {
    const std::lock_guard lock(mutex_);
    rings_.emplace_back(rings);
    --rings_out_;
    rings_returned_.notify_one();
  };
  RingsLease lease(nullptr, give_back);
  {
    std::unique_lock lock(mutex_);
    rings_returned_.wait(lock, [&] { return rings_out_ < most_rings_out; });
    if (rings_.empty()) rings_.push_back(std::make_unique<Rings>());
    lease.reset(rings_.back().release());
    rings_.pop_back();
    ++rings_out_;
  }
  const auto grow = [this](Buffer& ring, std::int64_t bytes) -> Status {
    if (ring.bytes() >= bytes) return {};
    ring = Buffer();
    auto larger = pinned(bytes);
    if (!larger.ok()) return larger.status();
    ring = std::move(larger).value();
    return {};
  };
  if (Status s = grow(lease->up, up_bytes); !s.ok()) return s;
  if (Status s = grow(lease->down, down_bytes); !s.ok()) return s;
  return lease;
}

Result<Buffer> Stager::memory(std::int64_t bytes) {
  const auto give_back = [this](void* data, std::int64_t size) { keep(data, size); };
  // Coarse sizes, so that what one run gave back fits the next.
  constexpr std::int64_t coarse = 2 << 20;
  std::int64_t size = core::round_up(std::max<std::int64_t>(bytes, 1), bytes > coarse ? coarse : 4096);
  if (void* kept = take_kept(size)) return Buffer(kept, size, give_back);
  auto made = allocate(size);
  if (!made.ok() && made.status().code() == StatusCode::out_of_memory) {
    release_kept();
    made = allocate(size);
  }
  if (!made.ok()) return made.status();
  return Buffer(made.value(), size, give_back);
}

Result<void*> Stager::allocate(std::int64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ - taken_bytes_)
      return Status(
          StatusCode::out_of_memory,
          fmt::format("device memory: {} bytes more than the {} that are in use would be above the limit of {}", bytes,
                      taken_bytes_, limit_));
    taken_bytes_ += bytes;
  }
  auto made = device_.allocate(bytes);
  if (!made.ok()) {
    const std::lock_guard lock(mutex_);
    taken_bytes_ -= bytes;
  }
  return made;
}

void Stager::release(void* data, std::int64_t bytes) {
  device_.release(data);
  const std::lock_guard lock(mutex_);
  taken_bytes_ -= bytes;
}

Result<std::int64_t> Stager::budget() {
  const auto free = device_.free_bytes();
  if (!free.ok()) return free.status();
  const std::lock_guard lock(mutex_);
  return std::min((free.value() + kept_bytes_) / 16 * 15, limit_ - (taken_bytes_ - kept_bytes_));
}

Result<Buffer> Stager::pinned(std::int64_t bytes) {
  auto made = device_.allocate_pinned(bytes);
  if (!made.ok()) return made.status();
  return Buffer(made.value(), bytes, [this](void* data, std::int64_t) { device_.release_pinned(data); });
}

Status Stager::more_events(Lane& lane, std::size_t count) {
  while (lane.events.size() < count) {
    auto made = device_.make_event();
    if (!made.ok()) return made.status();
    lane.events.push_back(std::move(made).value());
  }
  return {};
}

/// A kept block of at least `bytes`, not twice as large; `bytes` becomes its size.
void* Stager::take_kept(std::int64_t& bytes) {
  const std::lock_guard lock(mutex_);
  auto best = kept_.end();
  for (auto block = kept_.begin(); block != kept_.end(); ++block)
    if (block->bytes >= bytes && block->bytes <= 2 * bytes && (best == kept_.end() || block->bytes < best->bytes))
      best = block;
  if (best == kept_.end()) return nullptr;
  void* data = best->data;
  bytes = best->bytes;
  kept_bytes_ -= bytes;
  *best = kept_.back();
  kept_.pop_back();
  return data;
}

void Stager::keep(void* data, std::int64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (kept_.size() < most_kept && kept_bytes_ + bytes <= device_.memory_bytes() / kept_fraction) {
      kept_.push_back({data, bytes});
      kept_bytes_ += bytes;
      return;
    }
  }
  release(data, bytes);
}

void Stager::release_kept() {
  const std::lock_guard lock(mutex_);
  for (const Kept& block : kept_) device_.release(block.data);
  kept_.clear();
  taken_bytes_ -= kept_bytes_;
  kept_bytes_ = 0;
}

}  // namespace exactile::staging
