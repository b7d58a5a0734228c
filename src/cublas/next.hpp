// SPDX-License-Identifier: Apache-2.0
/// \file The cuBLAS that the program would have called.
#pragma once

#include <cublas_api.h>

#include <atomic>

#define EXACTILE_EXPORT __attribute__((visibility("default")))

namespace exactile::cublas {

/// One routine of the program's own cuBLAS, looked for with the first call. All of them answer a status.
class NextRoutine {
 public:
  constexpr explicit NextRoutine(const char* name) noexcept : name_(name) {}

  /// Calls it with arguments of exactly these types; CUBLAS_STATUS_NOT_INITIALIZED where the process has no cuBLAS.
  template <class... Args>
  cublasStatus_t operator()(Args... arguments) noexcept {
    const auto routine = reinterpret_cast<cublasStatus_t (*)(Args...)>(address());
    return routine == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : routine(arguments...);
  }

 private:
  [[nodiscard]] void* address() noexcept {
    void* known = address_.load(std::memory_order_acquire);
    if (known == nullptr) [[unlikely]]
      address_.store(known = find(), std::memory_order_release);
    return known;
  }
  [[nodiscard]] void* find() const noexcept;

  const char* name_;
  std::atomic<void*> address_{nullptr};
};

}  // namespace exactile::cublas
