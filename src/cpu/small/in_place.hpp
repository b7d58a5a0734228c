// SPDX-License-Identifier: Apache-2.0
/// \file How operands lie that are read in place.
#pragma once

#include <cstdint>

#include "cpu/caches.hpp"
#include "cpu/orientation.hpp"

namespace exactile::cpu {

/// As a number that cannot overflow: k of an operand that is broadcast is bounded by nothing but its type.
[[nodiscard]] inline double bytes_of(std::int64_t rows, std::int64_t columns, std::int64_t element_size) {
  return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(element_size);
}

/// Whether an operand comes from memory, see streamed_rows.
[[nodiscard]] inline bool a_streams(const Orientation& o, std::int64_t element_size) {
  return bytes_of(o.m, o.k, element_size) > static_cast<double>(caches().l2);
}

[[nodiscard]] inline bool a_by_rows(const Orientation& o) { return o.a.column_stride == 1 || o.k == 1; }
[[nodiscard]] inline bool a_by_columns(const Orientation& o) { return o.a.row_stride == 1 || o.m == 1; }

}  // namespace exactile::cpu
