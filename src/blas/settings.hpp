// SPDX-License-Identifier: Apache-2.0
/// \file What the process says once: threads and EXACTILE_VERBOSE. A set-uid program's environment says nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "exactile/backend.hpp"

namespace exactile::blas {

/// The variable's value; null where it is unset or empty, or the program runs with more rights than its user has.
[[nodiscard]] const char* environment(const char* name) noexcept;

/// Threads that a product may use: what openblas_set_num_threads() said, else the library's default.
[[nodiscard]] int threads() noexcept;
void set_threads(int count) noexcept;

/// What products are planned for: the processor, or with EXACTILE_OFFLOAD=auto what is quickest by estimate, copies
/// included. Settled when the library is loaded; EXACTILE_BACKEND does not count here.
extern const Backend backend;

/// The widest vectors that this processor has; EXACTILE_MAX_ISA takes wider ones away.
enum class Vectors : std::uint8_t { portable, avx2, avx512 };
[[nodiscard]] Vectors vectors() noexcept;

extern const bool verbose;  ///< EXACTILE_VERBOSE is 1; settled when the library is loaded

/// With EXACTILE_VERBOSE=1 prints one line on stderr when it goes: routine, sizes, kernel, time. Routines that are
/// built of others print the outermost only.
class Report {
 public:
  struct Size {
    const char* name;
    std::int64_t value;
  };
  Report(const char* routine, std::initializer_list<Size> sizes) noexcept {
    if (verbose) [[unlikely]]
      begin(routine, sizes);
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report() {
    if (verbose) [[unlikely]]
      end();
  }
  /// Names the kernel, or who does it instead, on the outermost report of this thread.
  static void says(std::string_view kernel) noexcept;

 private:
  void begin(const char* routine, std::initializer_list<Size> sizes) noexcept;
  void end() const noexcept;
};

}  // namespace exactile::blas
