// SPDX-License-Identifier: Apache-2.0
// Products where a process or a thread comes to its end: in atexit handlers and in the destructors of static and
// thread-local objects, on every thread, and in children of fork(). What the library keeps between calls must still be
// there, or be made anew, and memory made that late must not leak. Ends with 1 if a product is wrong.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "exactile/gemm.hpp"

namespace {

using namespace exactile;

/// Large enough for packed blocks and more than one thread. Ones times ones: every element is `size`.
template <class T>
void multiply_as(const char* when) {
  constexpr int size = 300;
  for (const int threads : {1, 4}) {
    const std::vector<T> ones(size * size, T(1));
    std::vector<T> c(size * size);
    const MatrixView<const T> input(ones.data(), size, size);
    const Status status = gemm(input, input, MatrixView<T>(c.data(), size, size),
                               {.options = {.backend = Backend::cpu, .threads = threads}});
    if (status.ok() && std::ranges::all_of(c, [](T x) { return x == T(size); })) continue;
    const std::string what(status.ok() ? "wrong" : status.message());
    std::fprintf(stderr, "%s, %d threads: %s\n", when, threads, what.c_str());
    std::_Exit(1);
  }
}

void multiply(const char* when) {
  multiply_as<float>(when);
  multiply_as<double>(when);
  multiply_as<std::int32_t>(when);
}

struct MultipliesAtItsEnd {
  const char* when;
  ~MultipliesAtItsEnd() { multiply(when); }
};

const MultipliesAtItsEnd last_of_all{"destructor of a static object"};

/// Made before the thread's first product, so destroyed after all that the product makes.
void multiply_to_the_end(const char* when) {
  thread_local MultipliesAtItsEnd last{when};
  multiply(last.when);
}

/// Destructors of a key's values run after those of thread_local objects.
void multiply_behind_thread_locals() {
  static pthread_key_t key;
  static const int made = pthread_key_create(&key, [](void*) { multiply("destructor of a thread's value of a key"); });
  if (made == 0) pthread_setspecific(key, &key);
  multiply_to_the_end("destructor of a thread_local object");
}

void run_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(multiply_behind_thread_locals);
  for (std::thread& thread : threads) thread.join();
}

/// The child of fork() ends as a process does, through its handlers.
void fork_and_end() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    multiply("child of fork()");
    std::exit(0);
  }
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::fprintf(stderr, "the child of fork() ended with status %d\n", status);
  std::_Exit(1);
}

}  // namespace

int main() {
  std::atexit([] { multiply("atexit handler from before the first product"); });
  multiply_to_the_end("destructor of a thread_local object of the main thread");
  std::atexit([] { multiply("atexit handler"); });
  std::atexit([] { std::thread(multiply_behind_thread_locals).join(); });
  run_threads();
  fork_and_end();
}
