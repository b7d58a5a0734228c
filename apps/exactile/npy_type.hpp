// SPDX-License-Identifier: Apache-2.0
/// \file How numbers lie in an .npy file, and the element types that they are multiplied as.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "exactile/types.hpp"

namespace exactile::program {

/// A type of NumPy's.
struct StoredType {
  char kind = 'f';         ///< as in its descr: f, i, u, c, or b for bool
  std::int64_t bytes = 4;  ///< of one number
  bool big_endian = false;
  ElementType type = ElementType::f32;  ///< in which each of its numbers is exact

  /// Whether the bytes in the file are not those of an element.
  [[nodiscard]] bool needs_conversion() const;
};

/// The same numbers as i32 where they are of u8 or i16, which multiply none but their like; others as they are.
[[nodiscard]] StoredType widened(StoredType stored);

/// What a descr such as "<f4", ">i2" or "f" means, in NumPy's two spellings. Throws HeaderError for what cannot be
/// multiplied.
[[nodiscard]] StoredType parse_npy_type(std::string_view descr);

/// "<f4" for f32; empty for types that .npy files cannot hold.
[[nodiscard]] std::string npy_descr(ElementType type);

/// Turns `count` numbers at `from` into elements at `to`.
void convert(const StoredType& stored, std::int64_t count, const std::byte* from, std::byte* to);

}  // namespace exactile::program
