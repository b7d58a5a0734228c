// SPDX-License-Identifier: Apache-2.0
#include "cublas/workspace.hpp"

#include <memory>
#include <unordered_map>

namespace exactile::cublas {
namespace {

/// Never destroyed: handles may be destroyed while the process ends.
struct Handles {
  std::mutex mutex;
  std::unordered_map<const void*, std::unique_ptr<Workspace>> workspaces;
};
Handles& handles() {
  static auto& all = *new Handles;
  return all;
}

}  // namespace

Workspace& workspace_of(const void* handle) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  auto& workspace = all.workspaces[handle];
  if (workspace == nullptr) workspace = std::make_unique<Workspace>();
  return *workspace;
}

void forget(const void* handle) noexcept {
  Handles& all = handles();
  std::unique_ptr<Workspace> gone;
  const std::lock_guard lock(all.mutex);
  const auto found = all.workspaces.find(handle);
  if (found == all.workspaces.end()) return;
  gone = std::move(found->second);
  all.workspaces.erase(found);
}

Workspace::Loan::Loan(Workspace& workspace, const Driver& driver, CUstream stream, bool is_captured, std::int64_t bytes)
    : workspace_(workspace), driver_(driver), stream_(stream), is_captured_(is_captured) {
  if (is_captured) {
    if (driver.allocate_in_order(&memory_, static_cast<std::size_t>(bytes), stream) != CUDA_SUCCESS) memory_ = 0;
    return;
  }
  lock_ = std::unique_lock(workspace.mutex_);
  if (workspace.grow(driver, stream, bytes)) memory_ = workspace.memory_;
}

Workspace::Loan::~Loan() {
  if (memory_ == 0) return;
  if (is_captured_) {
    static_cast<void>(driver_.free_in_order(memory_, stream_));
  } else if (driver_.record(workspace_.last_use_, stream_) != CUDA_SUCCESS) {
    // Nobody could wait for this use, as where the handle serves another device than before: the next has its own.
    static_cast<void>(driver_.free_in_order(memory_, stream_));
    static_cast<void>(driver_.destroy_event(workspace_.last_use_));
    workspace_.last_use_ = nullptr;
    workspace_.memory_ = 0;
    workspace_.bytes_ = 0;
  }
}

/// Leaves the stream behind the last use, so that products on different streams do not meet in the memory.
bool Workspace::grow(const Driver& driver, CUstream stream, std::int64_t bytes) {
  if (last_use_ == nullptr && driver.create_event(&last_use_, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return false;
  if (driver.wait(stream, last_use_, CU_EVENT_WAIT_DEFAULT) != CUDA_SUCCESS) return false;  // at once where unused
  if (bytes <= bytes_) return true;
  if (memory_ != 0) static_cast<void>(driver.free_in_order(memory_, stream));
  memory_ = 0;
  bytes_ = 0;
  if (driver.allocate_in_order(&memory_, static_cast<std::size_t>(bytes), stream) != CUDA_SUCCESS) return false;
  bytes_ = bytes;
  return true;
}

Workspace::~Workspace() {
  const Driver* const known = driver();
  if (known == nullptr) return;
  if (memory_ != 0) static_cast<void>(known->free(memory_));
  if (last_use_ != nullptr) static_cast<void>(known->destroy_event(last_use_));
}

}  // namespace exactile::cublas
