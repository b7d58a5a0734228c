// SPDX-License-Identifier: Apache-2.0
/// \file
/// A library opened at run time, so that the benchmark builds and runs whichever rivals a machine has.
#pragma once

#include <string>

namespace exactile::comparison {

class SharedObject {
 public:
  /// Throws std::runtime_error with the loader's own words.
  explicit SharedObject(std::string path);

  /// The symbol as `Function*`, from the library or from one it depends on; null where there is none.
  template <class Function>
  [[nodiscard]] Function* find(const std::string& symbol) const {
    return reinterpret_cast<Function*>(address(symbol));
  }
  /// As find(), but throws where there is none.
  template <class Function>
  [[nodiscard]] Function* require(const std::string& symbol) const {
    return reinterpret_cast<Function*>(required_address(symbol));
  }

  /// The file that the symbol lies in, without links; the path that was given where the loader does not say.
  [[nodiscard]] std::string file_of(const std::string& symbol) const;

 private:
  [[nodiscard]] void* address(const std::string& symbol) const;
  [[nodiscard]] void* required_address(const std::string& symbol) const;

  std::string path_;
  void* handle_ = nullptr;
};

}  // namespace exactile::comparison
