// SPDX-License-Identifier: Apache-2.0
/// \file What a program or library says of itself in its ELF headers.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace exactile::program {

/// A file of ELF's 64-bit form, read into memory. Damaged tables look empty.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path);

  [[nodiscard]] bool is_elf() const { return !content_.empty(); }
  /// The loader that the program asks for; empty of a library or a static program.
  [[nodiscard]] std::string interpreter() const;
  /// Whether it defines a dynamic symbol whose name satisfies this.
  [[nodiscard]] bool defines(const std::function<bool(std::string_view)>& wanted) const;

 private:
  template <class T>
  [[nodiscard]] const T* at(std::size_t offset) const;
  [[nodiscard]] std::string_view string_at(std::size_t offset) const;

  std::string content_;
};

}  // namespace exactile::program
