// SPDX-License-Identifier: Apache-2.0
/// \file Memory of the program: how much there is, and blocks of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace exactile::program {

/// Bytes that can be had without swapping: what the kernel says is available, or less where a cgroup limits it.
[[nodiscard]] std::int64_t available_memory();

/// Fails (trouble) when `bytes` more would not fit: better said now than by the kernel's killer in the middle of the
/// work.
void require_memory(std::int64_t bytes, const std::string& purpose);

/// A private mapping of memory or of a file: page-aligned, and gone with the object.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  /// Zeroed memory, in huge pages where the kernel gives them.
  [[nodiscard]] static Mapping memory(std::int64_t bytes);
  /// `bytes` of the open file, for reading or for reading and writing through to it.
  [[nodiscard]] static Mapping file(int descriptor, std::int64_t bytes, bool writable, const std::string& name);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::int64_t size() const { return size_; }

  /// Brings the pages in now, in one go, where that is a fair share of the memory; 0, or the errno of what went wrong.
  int populate(bool for_writing) const;
  void release();

 private:
  Mapping(std::byte* data, std::int64_t size) : data_(data), size_(size) {}
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace exactile::program
