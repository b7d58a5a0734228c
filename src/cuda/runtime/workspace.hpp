// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "cuda/kernel.hpp"

namespace exactile::cuda {

/// Scratch memory of one run: the caller's, or a piece of the device's pool, taken and given back in stream order (so
/// that runs on one stream share it, no call waits, and a graph can capture it). A stream keeps a small piece for its
/// next run: taking one and giving it back costs some microseconds, and the next kernel cannot start early then.
class Workspace {
 public:
  /// The device must be current. `kernel` is named in errors.
  [[nodiscard]] static Result<Workspace> take(const Device& device, const Execution& execution, std::int64_t bytes,
                                              std::string_view kernel);
  Workspace(Workspace&& other) noexcept;
  Workspace& operator=(Workspace&&) = delete;
  ~Workspace();

  [[nodiscard]] void* data() const { return data_; }

 private:
  explicit Workspace(void* data) : data_(data) {}
  void* data_;
  cudaStream_t stream_ = nullptr;
  bool is_pooled_ = false;
  std::atomic_flag* in_use_ = nullptr;  ///< of a piece that the stream keeps
};

/// Before a stream of the library's own is destroyed, whose device is current: gives back what it keeps.
void forget_workspace(int device, cudaStream_t stream);

}  // namespace exactile::cuda
