// SPDX-License-Identifier: Apache-2.0
/// \file The header of an .npy file, versions 1 to 3, read strictly: nothing in it is believed that the file's own size
/// does not confirm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exactile/types.hpp"

namespace exactile::program {

struct NpyHeader {
  ElementType type = ElementType::f32;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;  ///< where the elements begin in the file
  std::int64_t data_bytes = 0;   ///< product of the shape and the element size; checked against the file
};

/// Reads the header at the start of a whole file. Throws Failure (bad input) that begins with `name`: not an .npy file,
/// a header that is not as NumPy writes it, object, string, structured or big-endian elements, a type that no product
/// has, or a shape that declares more or less data than the file holds.
[[nodiscard]] NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& name);

/// The bytes before the elements of a new C-ordered file, padded to a multiple of 64.
[[nodiscard]] std::string format_npy_header(ElementType type, const std::vector<std::int64_t>& shape);

/// "<f4" for f32; empty for types that .npy files cannot hold.
[[nodiscard]] std::string npy_descr(ElementType type);

}  // namespace exactile::program
