// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the threads of a run wait for each other's work.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include "exactile/status.hpp"

namespace exactile::staging {

/// What is told, each with those who wait for it.
enum class News { loads, up_ring, kernels, fetches, down_ring };
inline constexpr int kinds_of_news = 5;

/// Conditions and changes are evaluated under one lock. What conditions look at only ever grows, so that several can be
/// waited for one after the other.
class Progress {
 public:
  /// False when another thread has failed meanwhile. Looks for a few microseconds before it sleeps: in a small product
  /// everything happens within them.
  template <class Condition>
  [[nodiscard]] bool wait_until(News news, const Condition& condition) {
    constexpr int rounds = 10;
    constexpr int looks = 2000;
    std::unique_lock lock(mutex_);
    const auto over = [&] { return failed_ || condition(); };
    for (int round = 0; round < rounds && !over(); ++round) {
      const std::uint32_t seen = changes_.load(std::memory_order_relaxed);
      lock.unlock();
      for (int look = 0; look < looks && changes_.load(std::memory_order_relaxed) == seen; ++look) {
      }
      lock.lock();
    }
    waiting_for(news).wait(lock, over);
    return !failed_;
  }

  template <class Change>
  void tell(News news, const Change& change, bool wakes = true) {
    const std::lock_guard lock(mutex_);
    change();
    changes_.fetch_add(1, std::memory_order_relaxed);
    if (wakes) waiting_for(news).notify_all();
  }

  /// The first failure is kept; nobody waits any more.
  void fail(Status status) {
    const std::lock_guard lock(mutex_);
    if (!failed_) status_ = std::move(status);
    failed_ = true;
    for (std::condition_variable& waiting : waiting_) waiting.notify_all();
  }
  [[nodiscard]] bool has_failed() {
    const std::lock_guard lock(mutex_);
    return failed_;
  }
  /// Once all threads are done.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  [[nodiscard]] std::condition_variable& waiting_for(News news) { return waiting_[static_cast<std::size_t>(news)]; }

  std::mutex mutex_;
  std::atomic<std::uint32_t> changes_{0};
  std::array<std::condition_variable, kinds_of_news> waiting_;
  bool failed_ = false;
  Status status_;
};

}  // namespace exactile::staging
