// SPDX-License-Identifier: Apache-2.0
/// \file An .npy file being made: computed in place in a file that has no name yet, or where there are no such files a
/// temporary one, and named when it is right.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "exactile/types.hpp"
#include "file_descriptor.hpp"
#include "memory.hpp"
#include "npy_input.hpp"

namespace exactile::program {

class NpyOutput {
 public:
  /// Makes the file in the target's folder. Refuses (bad usage) a target that is one of the inputs by whatever
  /// name, one that is no regular file, and a folder that cannot be written.
  NpyOutput(const std::string& path, std::span<const NpyInput* const> inputs);
  /// Nothing is left unless commit() was reached.
  ~NpyOutput();
  NpyOutput(const NpyOutput&) = delete;
  NpyOutput& operator=(const NpyOutput&) = delete;

  /// Gives the file its size on the disk, so that a full disk is met now (trouble) and not in the middle of the
  /// product, writes the header and maps it. data() is then C-ordered memory for the elements, all zero.
  void allocate(ElementType type, const std::vector<std::int64_t>& shape);
  [[nodiscard]] std::byte* data() const { return mapping_.data() + data_offset_; }

  /// The file appears under its name, replacing what was there. It is not forced to the disk (no fsync).
  void commit();

 private:
  void reserve(std::int64_t bytes);
  /// Where the file system has no files without a name.
  void make_named_file();
  /// Gives the file a temporary name, to be renamed to one that exists already.
  void link_beside();

  std::string path_;
  std::filesystem::path target_;  ///< symbolic links followed
  std::string temporary_;         ///< "" while the file has no name
  FileDescriptor file_;
  Mapping mapping_;
  std::int64_t data_offset_ = 0;
};

}  // namespace exactile::program
