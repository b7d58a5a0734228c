// SPDX-License-Identifier: Apache-2.0
/// \file The header of an .npy file, versions 1 to 3, read strictly: nothing in it is believed that the file's own size
/// does not confirm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "npy_type.hpp"

namespace exactile::program {

struct NpyHeader {
  StoredType stored;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;  ///< where the elements begin in the file
  std::int64_t data_bytes = 0;   ///< product of the shape and the size of a number; checked against the file
};

/// Reads the header at the start of a whole file. Throws Failure (bad input) that begins with `name`: not an .npy file,
/// a header that is not as NumPy writes it, object, string or structured elements, a type that no product has,
/// or a shape that declares more or less data than the file holds.
[[nodiscard]] NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& name);

/// The bytes before the elements of a new C-ordered file, padded to a multiple of 64.
[[nodiscard]] std::string format_npy_header(ElementType type, const std::vector<std::int64_t>& shape);

}  // namespace exactile::program
