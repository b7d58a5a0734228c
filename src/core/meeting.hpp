// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the threads of a team wait for each other: they look for a while, then sleep. Waking a sleeping thread takes
/// tens of microseconds, more than many products have; std::barrier and std::condition_variable sleep at once, or
/// nearly.
#pragma once

#include <atomic>
#include <chrono>

namespace exactile::core {

/// Leaves the core to what else it runs for some cycles.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How long a thread looks before it sleeps: about as long as waking it would take.
inline constexpr std::chrono::microseconds longest_look{50};

/// Looks until `is_there` or longest_look is over; whether it is there.
template <class IsThere>
[[nodiscard]] bool look_for(const IsThere& is_there) {
  constexpr int looks_between_times = 64;
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int look = 0; look < looks_between_times; ++look) {
      if (is_there()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() - begin < longest_look);
  return false;
}

/// A barrier for a fixed number of threads, for as many rounds as they like.
class Meeting {
 public:
  /// `looks`: whether who waits looks before it sleeps. Threads that share a core should not.
  Meeting(int count, bool looks) noexcept : count_(count), looks_(looks), missing_(count) {}

  /// Waits until all are here; what each did before is seen by all afterwards.
  void arrive_and_wait() noexcept {
    const unsigned round = round_.load(std::memory_order_relaxed);
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      missing_.store(count_, std::memory_order_relaxed);
      // seq_cst: notify_all() looks whether anybody sleeps, and must not look before the store is seen.
      round_.store(round + 1, std::memory_order_seq_cst);
      round_.notify_all();
      return;
    }
    const auto is_over = [&] { return round_.load(std::memory_order_acquire) != round; };
    if (looks_ && look_for(is_over)) return;
    while (!is_over()) round_.wait(round, std::memory_order_acquire);
  }

 private:
  static constexpr std::size_t line = 64;
  int count_;
  bool looks_;
  alignas(line) std::atomic<int> missing_;
  alignas(line) std::atomic<unsigned> round_{0};
};

}  // namespace exactile::core
