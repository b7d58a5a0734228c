// SPDX-License-Identifier: Apache-2.0
/// \file C0, the matrix that beta multiplies: copied to where C is computed, and kept in reach for the verification.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.hpp"
#include "npy_input.hpp"

namespace exactile::program {

/// Writes the array's elements to `to` in C order.
void copy_start_value(const NpyInput& array, std::byte* to);

/// The array in C order: the file itself where it is stored so, else a copy.
class StartValue {
 public:
  explicit StartValue(const NpyInput* array);
  /// Address of element `index` in C order; null where there is no array.
  [[nodiscard]] const void* element(std::int64_t index) const;

 private:
  const NpyInput* array_;
  Mapping copy_;
};

}  // namespace exactile::program
