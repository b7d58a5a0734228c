// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "core/checked.hpp"

namespace exactile::core {

/// Uninitialised bytes that start on a page, so that no micro-panel shares a cache line or a page with a stranger.
class AlignedMemory {
 public:
  static constexpr std::int64_t alignment = 4096;

  AlignedMemory() = default;
  /// data() is null if the memory could not be had.
  explicit AlignedMemory(std::int64_t bytes)
      : data_(std::aligned_alloc(alignment, static_cast<std::size_t>(round_up(bytes, alignment)))),
        bytes_(data_ ? bytes : 0) {}

  [[nodiscard]] void* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::int64_t size() const noexcept { return bytes_; }
  /// The bytes become the caller's, to be given to std::free().
  [[nodiscard]] void* release() noexcept { return data_.release(); }

 private:
  struct Free {
    void operator()(void* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<void, Free> data_;
  std::int64_t bytes_ = 0;
};

}  // namespace exactile::core
