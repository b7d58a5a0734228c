// SPDX-License-Identifier: Apache-2.0
/// \file Scratch memory for the products of one handle.
#pragma once

#include <cstdint>
#include <mutex>

#include "cublas/driver.hpp"

namespace exactile::cublas {

/// Memory that products of a handle share, one after the other on whatever streams; it grows, and goes with the handle.
/// In a capture each product has memory of its graph's instead, as those of cuBLAS have: a graph may run at any time.
class Workspace {
 public:
  /// Memory for what is enqueued on `stream` until it goes; data() is null where there is none.
  class Loan {
   public:
    Loan(Workspace& workspace, const Driver& driver, CUstream stream, bool is_captured, std::int64_t bytes);
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan();
    [[nodiscard]] void* data() const noexcept { return reinterpret_cast<void*>(memory_); }

   private:
    Workspace& workspace_;
    const Driver& driver_;
    CUstream stream_;
    bool is_captured_;
    CUdeviceptr memory_ = 0;
    std::unique_lock<std::mutex> lock_;
  };

  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();

 private:
  [[nodiscard]] bool grow(const Driver& driver, CUstream stream, std::int64_t bytes);

  std::mutex mutex_;
  CUdeviceptr memory_ = 0;
  std::int64_t bytes_ = 0;
  CUevent last_use_ = nullptr;
};

/// The handle's own; made with the first question. Handles of cublasLt are handles, too.
[[nodiscard]] Workspace& workspace_of(const void* handle);
/// The handle goes: so does its workspace, after the work enqueued on the device.
void forget(const void* handle) noexcept;

}  // namespace exactile::cublas
