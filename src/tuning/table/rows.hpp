// SPDX-License-Identifier: Apache-2.0
/// \file
/// Measured rows and the text they are kept in: one line a row, tab-separated, with a checksum at its end, so that a
/// line that is damaged, cut off or another program's is recognised and left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuning/table/parameters.hpp"

namespace exactile::tuning {

/// What a row was measured for. Text fields hold no tabs and no line ends.
struct Key {
  std::string kernel;
  int version = 1;          ///< of the kernel; rows of another one mean nothing
  std::string types;        ///< "f32"
  std::string shape_class;  ///< see shape_class(); "any" in shipped rows
  std::string device;       ///< its name; in shipped rows also "vendor:..." or "any:..."
  std::string driver;       ///< "any" in shipped rows
  friend bool operator==(const Key&, const Key&) = default;
};

struct Row {
  Key key;
  Parameters parameters;  ///< none: the kernel has none, and the row is about its speed alone
  double rate = 0;        ///< operations per second; 0: it failed, or was wrong, and is not to be tried again
};

/// The line of a row, checksum and line end included.
[[nodiscard]] std::string to_line(const Row& row);

struct Rows {
  std::vector<Row> rows;
  int unreadable_lines = 0;
};
[[nodiscard]] Rows parse_rows(std::string_view text);

/// "thin", "small", "medium" or "large": shapes that want different tiles.
[[nodiscard]] std::string_view shape_class(std::int64_t m, std::int64_t n);

/// What a product of a class looks like, for measuring.
struct Shape {
  std::int64_t m, n, k;
};
[[nodiscard]] Shape typical_shape(std::string_view shape_class, bool is_cpu);

}  // namespace exactile::tuning
