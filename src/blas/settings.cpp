// SPDX-License-Identifier: Apache-2.0
#include "blas/settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "blas/export.hpp"
#include "blas/fallback.hpp"
#include "blas/quick.hpp"
#include "exactile/devices.hpp"
#include "exactile/settings.hpp"

namespace exactile::blas {
namespace {

std::atomic<int> thread_setting{0};  ///< 0: not asked for yet

void settle(int count) noexcept {
  thread_setting.store(count, std::memory_order_relaxed);
  if (!verbose) quick_threads.store(count, std::memory_order_relaxed);
}

/// Settings that nobody understands are named where calls are.
void say_what_is_ignored() noexcept try {
  for (const std::string& setting : ignored_settings()) std::fprintf(stderr, "exactile: %s\n", setting.c_str());
} catch (const std::bad_alloc&) {  // then they are not
}

/// What this thread's outermost call prints. Plain data: a thread's end has nothing to destroy.
struct Line {
  int depth;
  char text[160];
  char kernel[64];
  std::chrono::steady_clock::time_point start;
};
constinit thread_local Line line{};

}  // namespace

const char* environment(const char* name) noexcept {
  const char* value = secure_getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

const Backend backend = [] {
  const char* value = environment("EXACTILE_OFFLOAD");
  if (value == nullptr || std::strcmp(value, "auto") != 0) return Backend::cpu;
  set_default_backend(Backend::automatic);
  return Backend::automatic;
}();

const bool verbose = [] {
  const char* value = environment("EXACTILE_VERBOSE");
  return value != nullptr && std::strcmp(value, "1") == 0;
}();

constinit std::atomic<int> quick_threads{0};

Vectors vectors() noexcept {
  static const Vectors widest = [] {
    const char* most = environment("EXACTILE_MAX_ISA");
    const std::string_view limit = most == nullptr ? "" : most;
    if (limit == "portable") return Vectors::portable;
    if (limit != "avx2" && __builtin_cpu_supports("avx512f")) return Vectors::avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Vectors::avx2 : Vectors::portable;
  }();
  return widest;
}

int threads() noexcept {
  const int known = thread_setting.load(std::memory_order_relaxed);
  if (known > 0) [[likely]]
    return known;
  const int count = default_threads();
  if (verbose) say_what_is_ignored();
  settle(count);
  return count;
}

void set_threads(int count) noexcept {
  settle(count < 1 ? default_threads() : count);
  set_fallback_threads(threads());
}

void Report::begin(const char* routine, std::initializer_list<Size> sizes) noexcept {
  if (line.depth++ > 0) return;
  constexpr int room = sizeof line.text;
  const auto name_length = static_cast<int>(std::strcspn(routine, " "));
  int used = std::snprintf(line.text, room, "%.*s", name_length, routine);
  for (const Size& size : sizes)
    if (used < room)
      used += std::snprintf(line.text + used, static_cast<std::size_t>(room - used), " %s=%lld", size.name,
                            static_cast<long long>(size.value));
  line.kernel[0] = '\0';
  line.start = std::chrono::steady_clock::now();
}

void Report::end() const noexcept {
  if (--line.depth > 0) return;
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - line.start;
  std::fprintf(stderr, "exactile: %s kernel=%s %.2f us\n", line.text, line.kernel[0] == '\0' ? "none" : line.kernel,
               time.count());
}

void Report::says(std::string_view kernel) noexcept {
  std::snprintf(line.kernel, sizeof line.kernel, "%.*s", static_cast<int>(kernel.size()), kernel.data());
}

}  // namespace exactile::blas

// What threadpoolctl and programs written for OpenBLAS ask.
extern "C" {

EXACTILE_EXPORT int openblas_get_num_threads() { return exactile::blas::threads(); }
EXACTILE_EXPORT void openblas_set_num_threads(int count) { exactile::blas::set_threads(count); }
EXACTILE_EXPORT int openblas_get_num_procs() { return exactile::default_threads(); }
EXACTILE_EXPORT int openblas_get_parallel() { return 1; }  // threads of its own
EXACTILE_EXPORT const char* exactile_blas_version() { return exactile::version().data(); }

}  // extern "C"
