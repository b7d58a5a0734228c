// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernel.hpp"

namespace exactile::cuda {

/// Scratch memory of one run: the caller's, or a piece of the device's pool, taken and given back in stream order (so
/// that runs on one stream share it, no call waits, and a graph can capture it).
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
  Workspace(void* data, cudaStream_t stream, bool is_pooled) : data_(data), stream_(stream), is_pooled_(is_pooled) {}
  void* data_;
  cudaStream_t stream_;
  bool is_pooled_;
};

}  // namespace exactile::cuda
