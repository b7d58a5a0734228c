// SPDX-License-Identifier: Apache-2.0
#include "core/team.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "core/thread_count.hpp"

namespace exactile::core {
namespace {

constexpr int most_workers = 1023;

struct Job {
  const std::function<void(const Member&)>* body;
  Meeting* meeting;
  int count;
  bool looks;               ///< whether workers look for their next job before they sleep
  std::fenv_t environment;  ///< the caller's rounding mode and treatment of subnormal numbers
  std::atomic<int> unfinished;
};

struct Worker {
  std::atomic<int> is_called = 0;  ///< and has a job; what the system can wait for is an int
  Job* job = nullptr;
  int id = 0;
};

/// The workers of this process. Never destroyed: a worker may still sleep in it when the process ends.
class Pool {
 public:
  // Crews put workers back into `idle_`, and must not meet an allocation that fails there.
  Pool() { idle_.reserve(most_workers); }

  /// Takes up to `wanted` idle workers, starting new ones only while fewer than `wanted` exist.
  std::vector<Worker*> take(int wanted) {
    std::lock_guard lock(mutex_);
    wanted = std::min(wanted, most_workers);
    while (started_ < wanted && start_one()) {
    }
    const auto count = std::min<std::size_t>(idle_.size(), static_cast<std::size_t>(wanted));
    std::vector<Worker*> taken(idle_.end() - static_cast<std::ptrdiff_t>(count), idle_.end());
    idle_.resize(idle_.size() - count);
    return taken;
  }

  void give_back(const std::vector<Worker*>& workers) {
    std::lock_guard lock(mutex_);
    idle_.insert(idle_.end(), workers.begin(), workers.end());
  }

  Pool* of_parent = nullptr;  ///< see leave_behind()

 private:
  bool start_one() {
    try {
      auto worker = std::make_unique<Worker>();
      // Not std::thread: its start-up memory belongs to the new thread's stack, and leaks in a child of fork().
      pthread_t thread{};
      if (pthread_create(&thread, nullptr, live, worker.get()) != 0) return false;
      pthread_detach(thread);
      idle_.push_back(worker.release());
    } catch (const std::bad_alloc&) {  // no more threads or memory to be had: work with those there are
      return false;
    }
    ++started_;
    return true;
  }

  static void* live(void* worker) noexcept { work(*static_cast<Worker*>(worker)); }

  [[noreturn]] static void work(Worker& self) {
    for (bool looks = false;;) {
      const auto is_called = [&] { return self.is_called.load(std::memory_order_acquire) != 0; };
      if (!looks || !look_for(is_called))
        while (!is_called()) self.is_called.wait(0, std::memory_order_acquire);
      self.is_called.store(0, std::memory_order_relaxed);
      Job* const job = self.job;
      looks = job->looks;
      std::fesetenv(&job->environment);
      (*job->body)(Member{self.id, job->count, job->meeting});
      // The job lives on the caller's stack until the last worker has counted down; nothing may touch it afterwards.
      if (job->unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) finished();
    }
  }

  static void finished();

  std::mutex mutex_;
  std::vector<Worker*> idle_;
  int started_ = 0;
};

// A caller waits for its job on this pair rather than in the job, which may vanish as soon as the count is zero.
struct Completion {
  std::mutex mutex;
  std::condition_variable done;
  Completion* of_parent = nullptr;
};

std::atomic<Pool*> current_pool{nullptr};
std::atomic<Completion*> current_completion{nullptr};

void Pool::finished() {
  Completion& completion = *current_completion.load(std::memory_order_acquire);
  std::lock_guard lock(completion.mutex);
  completion.done.notify_all();
}

/// What a parent process had is never used again, but stays known, so that it is no leak.
template <class T>
void leave_behind(std::atomic<T*>& place) noexcept {
  static T* newest = nullptr;
  T* left = place.exchange(nullptr, std::memory_order_acq_rel);
  if (left == nullptr) return;
  left->of_parent = newest;
  newest = left;
}

void forget_pool() noexcept {
  // In the child of fork() the workers are gone and their locks may be held for ever. Both are left behind.
  leave_behind(current_pool);
  leave_behind(current_completion);
}

template <class T>
T& get(std::atomic<T*>& place) {
  if (T* there = place.load(std::memory_order_acquire)) return *there;
  auto* made = new T;
  T* expected = nullptr;
  if (place.compare_exchange_strong(expected, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *expected;
}

Pool& pool() {
  static const int registered = pthread_atfork(nullptr, nullptr, forget_pool);
  static_cast<void>(registered);
  get(current_completion);
  return get(current_pool);
}

void start(Worker& worker, Job& job, int id) {
  worker.id = id;
  worker.job = &job;
  // seq_cst: notify_one() looks whether anybody sleeps, and must not look before the store is seen.
  worker.is_called.store(1, std::memory_order_seq_cst);
  worker.is_called.notify_one();
}

void wait_for(Job& job) {
  const auto is_done = [&] { return job.unfinished.load(std::memory_order_acquire) == 0; };
  if (job.looks ? look_for(is_done) : is_done()) return;
  Completion& completion = *current_completion.load(std::memory_order_acquire);
  std::unique_lock lock(completion.mutex);
  completion.done.wait(lock, is_done);
}

/// Workers taken for one job. They go back when it is done; had they put themselves back, all at once, they would wait
/// for each other.
class Crew {
 public:
  explicit Crew(int wanted) : pool_(pool()), workers_(pool_.take(wanted)) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() { pool_.give_back(workers_); }

  [[nodiscard]] int size() const { return static_cast<int>(workers_.size()); }
  void start_all(Job& job) {
    for (int id = 1; id < job.count; ++id) start(*workers_[static_cast<std::size_t>(id - 1)], job, id);
  }

 private:
  Pool& pool_;
  std::vector<Worker*> workers_;
};

void run_with(Crew& crew, const std::function<void(const Member&)>& body) {
  const int count = crew.size() + 1;
  const bool looks = count <= usable_processors();
  Meeting meeting(count, looks);
  Job job{&body, &meeting, count, looks, {}, count - 1};
  std::fegetenv(&job.environment);
  crew.start_all(job);
  body(Member{0, count, &meeting});
  wait_for(job);
}

std::atomic<RunTeam*> team_of_other_copy{nullptr};

}  // namespace

void use_team_of(RunTeam* other) noexcept {
  RunTeam* none = nullptr;
  team_of_other_copy.compare_exchange_strong(none, other, std::memory_order_acq_rel);
}

void run_team(int wanted, const std::function<void(const Member&)>& body) {
  if (RunTeam* const other = team_of_other_copy.load(std::memory_order_acquire)) return other(wanted, body);
  if (wanted > 1) {
    Crew crew(wanted - 1);
    if (crew.size() > 0) {
      run_with(crew, body);
      return;
    }
  }
  body(Member{0, 1, nullptr});
}

}  // namespace exactile::core
