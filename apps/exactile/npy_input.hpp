// SPDX-License-Identifier: Apache-2.0
/// \file An .npy file mapped into memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "memory.hpp"
#include "npy_header.hpp"

namespace exactile::program {

class NpyInput {
 public:
  /// Opens, maps and checks; throws Failure (bad input) with the path.
  explicit NpyInput(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] ElementType type() const { return header_.stored.type; }
  [[nodiscard]] bool fortran_order() const { return header_.fortran_order; }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return header_.shape; }
  /// Elements from one index to the next of each dimension.
  [[nodiscard]] const std::vector<std::int64_t>& strides() const { return strides_; }
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] bool is_file(dev_t device, ino_t inode) const { return device_ == device && inode_ == inode; }

  /// Makes i32 of u8 and i16.
  void widen();

  /// Reads the data in now, so that the product does not wait for the disk.
  void read_in();

 private:
  void map(int descriptor);
  void copy_to_aligned_memory(int descriptor);
  void convert_elements();

  std::string path_;
  NpyHeader header_;
  std::vector<std::int64_t> strides_;
  Mapping mapping_;
  const std::byte* data_ = nullptr;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace exactile::program
