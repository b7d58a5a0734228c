// SPDX-License-Identifier: Apache-2.0
/// \file The Python dict literal inside an .npy header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace exactile::program {

/// What is wrong with a header, without the file's name.
class HeaderError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct NpyLiteral {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Exactly the three keys, in any order and with any blanks. Throws HeaderError.
[[nodiscard]] NpyLiteral parse_npy_literal(std::string_view text);

}  // namespace exactile::program
